"""Connection counts of an account, as other servers and operators get them.

Source: nats-server `events.go`, `sendAccConnsUpdate`, `connsRequest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.errors import BadOptions
from framework.monitor.request_options import members_of_payload
from framework.server.system.client_events import CONNECTIONS
from framework.server.system.outbox import json_bytes
from framework.spec import ServiceSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from framework.server.system.client_event_queue import ClientEventQueue
    from framework.server.system.client_events import ClientEvents
    from framework.server.system.outbox import Outbox
    from framework.spec import ServiceAnswer, ServiceRequest

_ACCOUNT_AT: Final = 3
"""Where the account stands in `$SYS.REQ.ACCOUNT.<account>.CONNS`."""


class AccountReport:
    """Build the connection report of an account, and answer requests for it.

    Args:
        queue: Counts clients.
        events: Makes the head of the document.
        statistics: Returns what passes through an account, given how many clients it has here.
        outbox: Publishes.
    """

    def __init__(
        self,
        *,
        queue: ClientEventQueue,
        events: ClientEvents,
        statistics: Callable[[str, int], Mapping[str, object]],
        outbox: Outbox,
    ) -> None:
        self._queue = queue
        self._events = events
        self._statistics = statistics
        self._outbox = outbox

    def make(self, account: str) -> dict[str, object]:
        """Return the report of a known account."""
        count = self._queue.count(account)
        return {**self._events.head(CONNECTIONS), **self._statistics(account, count)}

    def services(self) -> Sequence[ServiceSpec]:
        """Return the service that other servers ask."""
        subject = "$SYS.REQ.ACCOUNT.*.CONNS"
        return [ServiceSpec(name=subject, subject=subject, answer=self._answer)]

    async def _answer(self, request: ServiceRequest) -> ServiceAnswer:
        account = request.subject.split(".")[_ACCOUNT_AT]
        try:
            named = members_of_payload(request.payload).get("acc") or account
        except BadOptions:
            return None
        if request.reply and named == account and self._queue.has_any(account):
            # Others want numbers that go up: nothing that is numbered later may go before.
            message = (request.reply.encode("utf-8", "surrogateescape"), b"", b"")
            self._outbox.send([(*message, json_bytes(self.make(account)))])
        return None
