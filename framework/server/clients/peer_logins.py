"""Logins of links that are no clients: plugins own them, and the same authenticators decide.

A machine: `ClientListener` asks the questions.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from framework.server.clients.admission import admission_of
from framework.server.clients.logins import Question
from framework.spec import Accepted, Refused

if TYPE_CHECKING:
    from framework.actors import Reply
    from framework.server.clients.logins import Decision, Logins
    from framework.spec import AccountBook, LinkId, LoginRequest


class PeerLogins:
    """Pending logins of links of other kinds, and who waits for the decision.

    Args:
        logins: Asks one authenticator after the other.
        accounts: Where links are let into.
    """

    def __init__(self, logins: Logins, *, accounts: AccountBook) -> None:
        self._logins = logins
        self._accounts = accounts
        self._replies: dict[LinkId, Reply[Accepted | Refused]] = {}

    def __contains__(self, link: LinkId) -> bool:
        return link in self._replies

    def begin(self, request: LoginRequest, reply: Reply[Accepted | Refused]) -> Question | None:
        """Decide on a login, or return whom to ask first."""
        assert request.link not in self._replies
        if not self._logins.are_required(""):
            reply.set(self._settled(Accepted(request.connect.user)))
            return None
        self._replies[request.link] = reply
        return self._logins.begin(request.link, request)

    def receive(self, decision: Decision) -> Question | None:
        """Pass a decision on, or return whom to ask next."""
        if isinstance(decision.step, Question):
            return decision.step
        answer = decision.step
        reply = self._replies.pop(decision.request.link)
        reply.set(self._settled(answer) if isinstance(answer, Accepted) else answer)
        return None

    def forget(self, link: LinkId) -> None:
        """Decide on nobody who has gone."""
        if self._replies.pop(link, None) is not None:
            self._logins.forget(link)

    def _settled(self, accepted: Accepted) -> Accepted | Refused:
        """Return what a login comes to in its account, with what that allows everybody."""
        spec = self._accounts.get(accepted.account)
        if spec is None:
            return Refused("its account is unknown")
        admission = admission_of(accepted, spec)
        if admission.expires_s and admission.expires_s <= time.time_ns() / 1e9:
            return Refused("its login has expired")
        return replace(accepted, permissions=admission.permissions, expires_s=admission.expires_s)
