"""Authorization request and response claims of auth callout.

Source: jwt `authorization_claims.go`; ADR-26.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework.wire.nkey import NkeyKind
from framework_auth.claims.errors import ClaimsError
from framework_auth.claims.standard import Standard, check_key, read_standard

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework_auth.claims.token import Token

REQUEST_AUDIENCE: Final = "nats-authorization-request"


class AuthorizationRequest(Struct, frozen=True, kw_only=True):
    """Authorization request claims: what a callout service is told of a client."""

    subject: str
    """Public key of the issuer that is asked."""
    user_nkey: str
    """Public key drawn for this request alone: the answer must be about it."""
    expires_s: int
    """Unix time after which nobody waits for an answer."""
    server: Mapping[str, object]
    client: Mapping[str, object]
    connect: Mapping[str, object]
    """As the client sent it, with its secrets."""
    tls: Mapping[str, object] | None = None

    def members(self) -> dict[str, object]:
        """Return its claims."""
        nats: dict[str, object] = {
            "server_id": self.server,
            "user_nkey": self.user_nkey,
            "client_info": self.client,
            "connect_opts": self.connect,
        }
        if self.tls:
            nats["client_tls"] = self.tls
        nats["type"] = "authorization_request"
        return {
            "aud": REQUEST_AUDIENCE,
            "exp": self.expires_s,
            "sub": self.subject,
            "nats": nats,
        }


class AuthorizationResponse(Struct, frozen=True, kw_only=True):
    """Authorization response claims: the JWT of a user, or an error."""

    standard: Standard
    """Its subject is the key that was drawn, its audience the server that asked."""
    jwt: str = ""
    """Claim of the user; empty: it is refused."""
    error: str = ""
    issuer_account: str = ""


def read_response(token: Token) -> AuthorizationResponse:
    """Read an answer.

    Raises:
        ClaimsError: It says what no answer may say.
    """
    nats = token.fields.nested("nats")
    claims = AuthorizationResponse(
        standard=read_standard(token),
        jwt=nats.text("jwt"),
        error=nats.text("error"),
        issuer_account=nats.text("issuer_account"),
    )
    check_key(claims.standard.issuer, "issuer", NkeyKind.ACCOUNT)
    check_key(claims.standard.subject, "subject", NkeyKind.USER)
    check_key(claims.standard.audience, "audience", NkeyKind.SERVER)
    if claims.issuer_account:
        check_key(claims.issuer_account, "issuer_account", NkeyKind.ACCOUNT)
    if bool(claims.jwt) is bool(claims.error):
        raise ClaimsError("either `jwt` or `error` is needed")
    return claims
