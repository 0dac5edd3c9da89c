"""Auth callout without operator mode: which logins go to the service.

Source: nats-server `auth.go`, `processClientOrLeafAuthentication`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from framework.actors import Reply
from framework.spec import Accepted, Refused
from framework_auth.callout.auth_callout import AUTH_CALLOUT, AuthCallout
from framework_auth.callout.judges import ConfigJudge
from framework_auth.operator.admission import Proof, without_callout_subject

if TYPE_CHECKING:
    from framework.spec import Authenticator, LoginAnswer, LoginRequest, ServerContext
    from framework_auth.callout_options import CalloutSettings


class CalloutGate:
    """Authenticate callout users by the configuration, everybody else by the service.

    Args:
        settings: Of the callout.
        server: The server.
        inner: Decides on configured users; None: there are none.
    """

    def __init__(
        self, settings: CalloutSettings, server: ServerContext, inner: Authenticator | None
    ) -> None:
        self._settings = settings
        self._server = server
        self._inner = inner
        self._judge = ConfigJudge(settings, server.accounts)

    def authenticate(self, request: LoginRequest) -> Reply[LoginAnswer]:
        """Decide on a login."""
        reply: Reply[LoginAnswer] = Reply()
        if self._inner is None:
            self._ask(request, reply)
            return reply

        def follow(done: Reply[LoginAnswer]) -> None:
            outcome = done.outcome()
            answer = None if isinstance(outcome, BaseException) else outcome
            self._follow(request, answer, reply)

        self._inner.authenticate(request).when_done(follow)
        return reply

    def recheck(self, request: LoginRequest, accepted: Accepted) -> Accepted | Refused:
        """Decide again on who is connected; what a service has said stands until it expires."""
        if isinstance(accepted.proof, Proof):
            if self._server.accounts.get(accepted.account) is None:
                return Refused("its account is gone")
            return accepted
        if self._inner is None or self._inner.recheck is None:
            return Refused("its user is gone")
        answer = self._inner.recheck(request, accepted)
        return self._shielded(answer) if isinstance(answer, Accepted) else answer

    def _follow(
        self, request: LoginRequest, answer: LoginAnswer, reply: Reply[LoginAnswer]
    ) -> None:
        accepted = answer if isinstance(answer, Accepted) else None
        if self._is_auth_user(request):
            reply.set(self._shielded(accepted) if accepted else answer or Refused())
        elif accepted is not None and not self._is_delegated(accepted.account):
            reply.set(accepted)
        else:
            self._ask(request, reply)

    def _is_auth_user(self, request: LoginRequest) -> bool:
        names = {request.connect.user, request.connect.nkey} - {""}
        return not names.isdisjoint(self._settings.auth_users)

    def _is_delegated(self, account: str) -> bool:
        allowed = self._settings.allowed_accounts
        return not allowed or account in allowed

    def _shielded(self, accepted: Accepted) -> Accepted:
        """Return what a configured user may, who must not ask the service in our name."""
        if accepted.account != self._settings.account:
            return accepted
        spec = self._server.accounts.get(accepted.account)
        default = spec.default_permissions if spec else None
        permissions = without_callout_subject(accepted.permissions, default)
        return replace(accepted, permissions=permissions)

    def _ask(self, request: LoginRequest, reply: Reply[LoginAnswer]) -> None:
        ask = AuthCallout.Ask(request, self._judge, request.connect.jwt, reply)
        self._server.component(AUTH_CALLOUT).tell(ask)
