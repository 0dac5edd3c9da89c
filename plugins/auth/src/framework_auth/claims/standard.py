"""Fields that all claims share: issuer, subject, time of issue, expiry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from framework.wire.nkey import is_public_key
from framework_auth.claims.errors import ClaimsError, ExpiredError
from framework_auth.claims.fields import shown

if TYPE_CHECKING:
    from framework.wire.nkey import NkeyKind
    from framework_auth.claims.fields import Fields
    from framework_auth.claims.token import Token


class Standard(Struct, frozen=True, kw_only=True):
    """Fields that claims of all kinds share. Source: jwt `claims.go`, `ClaimsData`."""

    issuer: str
    """Public key of who signed it."""
    subject: str
    """Who it is about."""
    audience: str = ""
    token_id: str = ""
    issued_s: int = 0
    """Unix time."""
    not_before_s: int = 0
    """Unix time; 0: at once."""
    expires_s: int = 0
    """Unix time; 0: never."""
    name: str = ""
    """What people call the subject."""
    tags: tuple[str, ...] = ()
    version: int = 2

    def check_time(self, now_s: float) -> None:
        """Refuse what is not valid at a time.

        Raises:
            ExpiredError: It was valid.
            ClaimsError: It is not yet valid.
        """
        if self.is_expired(now_s):
            raise ExpiredError("claim is expired")
        if self.not_before_s > now_s:
            raise ClaimsError("claim is not yet valid")

    def is_expired(self, now_s: float) -> bool:
        """Tell whether the time of the claim is over."""
        return 0 < self.expires_s < int(now_s)


class GenericClaims(Struct, frozen=True, kw_only=True):
    """Claims of an unknown kind."""

    standard: Standard
    nats: Fields
    """Its own part."""


def read_standard(token: Token) -> Standard:
    """Return what every claim says."""
    fields = token.fields
    inner = fields if token.version == 1 else fields.nested("nats")
    return Standard(
        issuer=token.issuer,
        subject=fields.text("sub"),
        audience=fields.text("aud"),
        token_id=fields.text("jti"),
        issued_s=fields.number("iat"),
        not_before_s=fields.number("nbf"),
        expires_s=fields.number("exp"),
        name=fields.text("name"),
        tags=inner.texts("tags"),
        version=token.version,
    )


def check_key(text: str, what: str, kind: NkeyKind) -> None:
    """Refuse what is no public key of a kind.

    Raises:
        ClaimsError: It is none; `what` says what it should have been the key of.
    """
    if not is_public_key(text, kind):
        raise ClaimsError(f"{what} {shown(text)} is no {kind.name.lower()} public key")
