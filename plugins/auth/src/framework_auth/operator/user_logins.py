"""Logins by JWT, step by step: user claims, then account claims.

A machine without clock and network.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from framework.spec import Accepted, ClosedState, Refused
from framework_auth.claims import (
    ClaimsError,
    ExpiredError,
    RevokedError,
    UserClaims,
    read_claims_of,
)
from framework_auth.operator.admission import (
    Admitted,
    Proof,
    accept,
    admit,
    check_connection,
    check_nonce,
    without_callout_subject,
)

if TYPE_CHECKING:
    from framework.spec import LoginRequest
    from framework_auth.operator.known_accounts import KnownAccounts
    from framework_auth.operator.trust import KnownAccount, Trust


@dataclass(frozen=True, slots=True)
class NeedsAccount:
    """The account must be resolved first; then call `UserLogins.decide`."""

    claims: UserClaims
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class NeedsCallout:
    """The account's callout service must be asked."""

    account: KnownAccount
    token: str = field(repr=False)
    """What the client showed."""


Step: TypeAlias = NeedsAccount | NeedsCallout | Accepted | Refused


class UserLogins:
    """Decide on logins by JWT.

    Args:
        trust: Whom to trust.
        accounts: Those that are known.
        sentinel: Token of who brings none; empty: who brings none is refused.
    """

    def __init__(self, trust: Trust, accounts: KnownAccounts, *, sentinel: str) -> None:
        self._trust = trust
        self._accounts = accounts
        self._sentinel = sentinel

    def begin(self, request: LoginRequest, now_s: float) -> Step:
        """Begin a login: check the user JWT that a client shows."""
        token = request.connect.jwt
        try:
            claims = self._claims(token)
        except ClaimsError as error:
            if not self._sentinel:
                return Refused(f"user JWT not valid: {error}" if token else "no user JWT")
            token = self._sentinel
            claims = read_claims_of(UserClaims, token)
        if self._trust.is_pinned_out(claims.account):
            why = "its account is not one of resolver_pinned_accounts"
            return Refused(why, claims.standard.subject)
        needed = NeedsAccount(claims, token)
        if self._accounts.get(claims.account) is None:
            return needed
        return self.decide(request, needed, now_s)

    def decide(self, request: LoginRequest, needed: NeedsAccount, now_s: float) -> Step:
        """Decide on a user whose account was resolved, or could not be."""
        known = self._accounts.get(needed.claims.account)
        if known is None:
            return Refused("its account is unknown", needed.claims.standard.subject)
        try:
            return self._decide(request, needed, known, now_s)
        except ClaimsError as error:
            return _refused(error, needed.claims)

    def recheck(self, request: LoginRequest, proof: Proof, now_s: float) -> Accepted | Refused:
        """Decide again on who is connected, by what is known of the account now."""
        known = self._accounts.get(proof.account)
        if known is None:
            return Refused("its account is gone")
        try:
            admitted = admit(proof.claims, known, now_s)
            end_s = check_connection(admitted.rules, request, now_s)
        except ClaimsError as error:
            return _refused(error, proof.claims)
        return self._accept(admitted, proof, known, end_s)

    def _decide(
        self, request: LoginRequest, needed: NeedsAccount, known: KnownAccount, now_s: float
    ) -> Step:
        admitted = admit(needed.claims, known, now_s)
        end_s = check_connection(admitted.rules, request, now_s)
        if not admitted.rules.is_bearer:
            check_nonce(needed.claims, request)
        users = known.claims.callout.auth_users
        if users and needed.claims.standard.subject not in users:
            return NeedsCallout(known, needed.token)
        proof = Proof(needed.claims, needed.token, known.claims.name)
        return self._accept(admitted, proof, known, end_s)

    def _accept(
        self, admitted: Admitted, proof: Proof, known: KnownAccount, end_s: float
    ) -> Accepted:
        accepted = accept(admitted, proof, end_s)
        if not known.claims.callout.auth_users:
            return accepted
        default = known.claims.default_rules.permissions
        permissions = without_callout_subject(accepted.permissions, default)
        return replace(accepted, permissions=permissions)

    def _claims(self, token: str) -> UserClaims:
        if not token:
            raise ClaimsError("there is none")
        return read_claims_of(UserClaims, token)


def _refused(error: ClaimsError, claims: UserClaims) -> Refused:
    """Return the answer to a user who may not log in, or not any more."""
    match error:
        case RevokedError():
            reason = ClosedState.REVOCATION
        case ExpiredError():
            reason = ClosedState.AUTHENTICATION_EXPIRED
        case _:
            reason = ClosedState.AUTHENTICATION_VIOLATION
    return Refused(str(error), claims.standard.subject, reason)
