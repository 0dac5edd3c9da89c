"""Decode a JWT into the claims of its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from framework_auth.claims.account import AccountClaims, read_account
from framework_auth.claims.activation import ActivationClaims, read_activation
from framework_auth.claims.authorization import AuthorizationResponse, read_response
from framework_auth.claims.errors import ClaimsError
from framework_auth.claims.fields import shown
from framework_auth.claims.operator import OperatorClaims, read_operator
from framework_auth.claims.standard import GenericClaims, read_standard
from framework_auth.claims.token import Token, decode_token
from framework_auth.claims.user import UserClaims, read_user

if TYPE_CHECKING:
    from collections.abc import Callable

Claims: TypeAlias = (
    OperatorClaims
    | AccountClaims
    | UserClaims
    | ActivationClaims
    | AuthorizationResponse
    | GenericClaims
)
C = TypeVar("C", bound=Claims)

_READERS: Final[dict[str, Callable[[Token], Claims]]] = {
    "operator": read_operator,
    "account": read_account,
    "user": read_user,
    "activation": read_activation,
    "authorization_response": read_response,
}


def read_claims(text: str) -> Claims:
    """Read a token of any kind: its signature is right, and it says what its kind may say.

    Whether its issuer is trusted, and whether it is valid now, is for the caller.

    Raises:
        ClaimsError: It is no such token; nothing else is raised, whatever the text is.
    """
    token = decode_token(text)
    reader = _READERS.get(token.kind, _read_generic)
    return reader(token)


def read_claims_of(kind: type[C], text: str) -> C:
    """Read a token that must be of one kind.

    Raises:
        ClaimsError: It is no token, or of another kind.
    """
    claims = read_claims(text)
    if not isinstance(claims, kind):
        names = (type(claims).__name__, kind.__name__)
        raise ClaimsError("token has {} and not {}".format(*map(shown, names)))
    return claims


def _read_generic(token: Token) -> GenericClaims:
    return GenericClaims(standard=read_standard(token), nats=token.fields.nested("nats"))
