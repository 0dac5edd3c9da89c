"""Check authorization responses, with and without operator mode.

Machines without clock and network. Source: nats-server `auth_callout.go`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace
from typing_extensions import override

from framework.spec import Accepted
from framework_auth.claims import ClaimsError
from framework_auth.claims.account import ALL
from framework_auth.operator.admission import (
    Proof,
    admit,
    check_connection,
    without_callout_subject,
)

if TYPE_CHECKING:
    from framework.spec import AccountBook, LoginRequest
    from framework_auth.callout_options import CalloutSettings
    from framework_auth.claims import AuthorizationResponse, UserClaims, UserRules
    from framework_auth.operator.known_accounts import KnownAccounts
    from framework_auth.operator.trust import KnownAccount


class Judge(Protocol):
    """Check authorization responses: who is asked, and which signer counts."""

    @property
    def account(self) -> str:
        """Where the service is."""
        ...

    @property
    def issuer(self) -> str:
        """Public key that the request is about."""
        ...

    @property
    def xkey(self) -> str:
        """Public xkey of the service; empty: nothing is encrypted."""
        ...

    def check_signer(self, response: AuthorizationResponse) -> None:
        """Refuse an answer that somebody else has signed.

        Raises:
            ClaimsError: The signer does not count.
        """
        ...

    def account_of(self, claims: UserClaims) -> str:
        """Return the account that a user is let into.

        Raises:
            ClaimsError: The service may not let anybody in there.
        """
        ...

    def accept(self, claims: UserClaims, request: LoginRequest, now_s: float) -> Accepted:
        """Return what a response grants: its account is resolved, if it exists.

        Raises:
            ClaimsError: The user may not log in.
        """
        ...


@dataclass(frozen=True, slots=True)
class ConfigJudge(Judge):
    """Without operator mode: one issuer signs every response."""

    settings: CalloutSettings
    accounts: AccountBook

    @property
    @override
    def account(self) -> str:
        return self.settings.account

    @property
    @override
    def issuer(self) -> str:
        return self.settings.issuer

    @property
    @override
    def xkey(self) -> str:
        return self.settings.xkey

    @override
    def check_signer(self, response: AuthorizationResponse) -> None:
        if response.standard.issuer != self.settings.issuer:
            raise ClaimsError("auth callout signing key is unknown")

    @override
    def account_of(self, claims: UserClaims) -> str:
        if claims.issuer_account:
            raise ClaimsError("`issuer_account` is of operator mode")
        if claims.standard.issuer != self.settings.issuer:
            raise ClaimsError("auth callout response: wrong issuer of the user")
        if self.accounts.get(claims.standard.audience) is None:
            raise ClaimsError("auth callout response: the audience is not a valid account")
        return claims.standard.audience

    @override
    def accept(self, claims: UserClaims, request: LoginRequest, now_s: float) -> Accepted:
        account = self.account_of(claims)
        spec = self.accounts.get(account)
        end_s = check_connection(claims.rules, request, now_s)
        default = spec.default_permissions if spec else None
        accepted = _accepted(claims, claims.rules, request, account, end_s)
        if account == self.account:
            permissions = without_callout_subject(accepted.permissions, default)
            return replace(accepted, permissions=permissions)
        return accepted


@dataclass(frozen=True, slots=True)
class OperatorJudge(Judge):
    """In operator mode: an account whose claims name a callout."""

    known: KnownAccount
    accounts: KnownAccounts

    @property
    @override
    def account(self) -> str:
        return self.known.claims.name

    @property
    @override
    def issuer(self) -> str:
        return self.known.claims.name

    @property
    @override
    def xkey(self) -> str:
        return self.known.claims.callout.xkey

    @override
    def check_signer(self, response: AuthorizationResponse) -> None:
        if response.issuer_account not in {"", self.account}:
            raise ClaimsError("auth callout response: `issuer_account` is not the callout account")
        signer = response.standard.issuer
        if signer != self.account and signer not in self.known.signing_keys:
            raise ClaimsError("auth callout signing key is unknown")

    @override
    def account_of(self, claims: UserClaims) -> str:
        allowed = self.known.claims.callout.allowed_accounts
        if claims.account != self.account and claims.account not in allowed and ALL not in allowed:
            raise ClaimsError("auth callout response: account not allowed")
        return claims.account

    @override
    def accept(self, claims: UserClaims, request: LoginRequest, now_s: float) -> Accepted:
        account = self.account_of(claims)
        target = self.accounts.get(account)
        if target is None:
            raise ClaimsError("auth callout response: unknown account")
        admitted = admit(claims, target, now_s)
        end_s = check_connection(admitted.rules, request, now_s)
        accepted = _accepted(claims, admitted.rules, request, account, end_s)
        if account == self.account:
            default = target.claims.default_rules.permissions
            permissions = without_callout_subject(accepted.permissions, default)
            return replace(accepted, permissions=permissions)
        return accepted


def _accepted(
    claims: UserClaims, rules: UserRules, request: LoginRequest, account: str, end_s: float
) -> Accepted:
    """Return what a user may; its limits of subscriptions and payload are the account's."""
    connect = request.connect
    ends = [it for it in (float(claims.standard.expires_s), end_s) if it]
    return Accepted(
        user=claims.standard.name or connect.user or connect.nkey or claims.standard.subject,
        account=account,
        permissions=rules.permissions,
        expires_s=min(ends, default=0.0),
        issuer=claims.standard.issuer,
        tags=claims.standard.tags,
        proof=Proof(claims, "", account, is_from_callout=True),
    )
