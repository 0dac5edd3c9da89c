"""Operator claims.

Source: jwt `operator_claims.go`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework.wire.nkey import NkeyKind
from framework_auth.claims.errors import ClaimsError
from framework_auth.claims.fields import shown
from framework_auth.claims.standard import Standard, check_key, read_standard

if TYPE_CHECKING:
    from framework_auth.claims.token import Token

_VERSION: Final = re.compile(r"\d{1,6}\.\d{1,6}\.\d{1,6}", re.ASCII)


class OperatorClaims(Struct, frozen=True, kw_only=True):
    """The claims of an operator."""

    standard: Standard
    signing_keys: tuple[str, ...] = ()
    """Keys that sign on its behalf."""
    account_server_url: str = ""
    """Where accounts are fetched from, if nothing else is configured; `/accounts` follows it."""
    service_urls: tuple[str, ...] = ()
    system_account: str = ""
    """Public key; empty: it does not say."""
    server_version: tuple[int, int, int] = (0, 0, 0)
    """What a server must be compatible with at least."""
    is_strict: bool = False
    """Only signing keys may sign accounts and users."""

    @property
    def trusted_keys(self) -> tuple[str, ...]:
        """Public keys that may sign accounts."""
        return self.signing_keys if self.is_strict else (self.standard.subject, *self.signing_keys)

    def document(self) -> dict[str, object]:
        """Return the claims as JSON has them, without what they do not say."""
        standard = self.standard
        version = ".".join(map(str, self.server_version)) if any(self.server_version) else ""
        nats = {
            "signing_keys": list(self.signing_keys),
            "account_server_url": self.account_server_url,
            "operator_service_urls": list(self.service_urls),
            "system_account": self.system_account,
            "assert_server_version": version,
            "strict_signing_key_usage": self.is_strict,
            "tags": list(standard.tags),
            "type": "operator",
            "version": standard.version,
        }
        claims = {
            "aud": standard.audience,
            "exp": standard.expires_s,
            "jti": standard.token_id,
            "iat": standard.issued_s,
            "iss": standard.issuer,
            "name": standard.name,
            "nbf": standard.not_before_s,
            "sub": standard.subject,
            "nats": {name: value for name, value in nats.items() if value},
        }
        return {name: value for name, value in claims.items() if value}


def read_operator(token: Token) -> OperatorClaims:
    """Read the claims of an operator.

    Raises:
        ClaimsError: They say what no operator may say.
    """
    nats = token.fields.nested("nats")
    claims = OperatorClaims(
        standard=read_standard(token),
        signing_keys=nats.texts("signing_keys"),
        account_server_url=nats.text("account_server_url"),
        service_urls=nats.texts("operator_service_urls"),
        system_account=nats.text("system_account"),
        server_version=_server_version(nats.text("assert_server_version")),
        is_strict=nats.flag("strict_signing_key_usage"),
    )
    check_key(claims.standard.issuer, "issuer", NkeyKind.OPERATOR)
    check_key(claims.standard.subject, "subject", NkeyKind.OPERATOR)
    for key in claims.signing_keys:
        check_key(key, "signing key", NkeyKind.OPERATOR)
    if claims.system_account:
        check_key(claims.system_account, "system_account", NkeyKind.ACCOUNT)
    return claims


def _server_version(text: str) -> tuple[int, int, int]:
    if not text:
        return 0, 0, 0
    if not _VERSION.fullmatch(text):
        raise ClaimsError(f"assert_server_version {shown(text)} is no version")
    major, minor, update = map(int, text.split("."))
    return major, minor, update
