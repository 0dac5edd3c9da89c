"""Check account claims against trusted operators.

Source: nats-server `server.go`, `verifyAccountClaims`, `isTrustedIssuer`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from framework_auth.claims import AccountClaims, ClaimsError, Scope, read_claims_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework_auth.operator_settings import OperatorSettings


@dataclass(frozen=True, slots=True)
class KnownAccount:
    """An account with checked claims."""

    claims: AccountClaims
    token: str = field(repr=False)
    signing_keys: Mapping[str, Scope | None] = field(repr=False)
    """Who signs for it, its own key among them unless its operator is strict."""


class Trust:
    """Check which accounts are signed by trusted operators.

    Args:
        settings: What the server was told.
    """

    def __init__(self, settings: OperatorSettings) -> None:
        self._settings = settings
        self._strict_keys = settings.strict_keys

    def check_account(self, token: str, name: str, now_s: float) -> KnownAccount:
        """Read the token of an account.

        Args:
            token: As it came from wherever accounts come from.
            name: Public key of the account that was asked for.
            now_s: Unix time.

        Raises:
            ClaimsError: It is of another account, of a foreign operator, expired or malformed.
        """
        known = self.check_signed(token, name)
        known.claims.standard.check_time(now_s)
        return known

    def check_signed(self, token: str, name: str) -> KnownAccount:
        """Read the token of an account that need not be valid now; else as `check_account`."""
        claims = read_claims_of(AccountClaims, token)
        if claims.name != name:
            raise ClaimsError("subject does not match jwt content")
        issuer = claims.standard.issuer
        if issuer not in self._settings.trusted_keys:
            if any(issuer == it.standard.subject for it in self._settings.operators):
                raise ClaimsError("operator requires issuer to be a signing key")
            raise ClaimsError("the account is not signed by a trusted operator")
        keys = dict(claims.signing_keys)
        if issuer not in self._strict_keys:
            keys[name] = None
        return KnownAccount(claims, token, keys)

    def is_pinned_out(self, account: str) -> bool:
        """Tell whether users of an account may not log in here at all."""
        pinned = self._settings.pinned_accounts
        return bool(pinned) and account not in pinned | {self._settings.system_account}
