"""Connect and disconnect events of clients, as JSON documents.

They are written piece by piece, as `client_document` says.
Source: nats-server `events.go`, `accountConnectEvent`, `accountDisconnectEvent`,
`sendAuthErrorEvent`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.server.clients.client_document import client_text
from framework.spec import GLOBAL_ACCOUNT
from framework.spec.formats import time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from framework.server.clients.client_notices import ClientSeen
    from framework.server.system.client_event_queue import ClientEvent
    from framework.server.system.server_stamp import ServerStamp
    from framework.spec import Closed
    from framework.wire.event_ids import EventIds

CONNECTED: Final = "io.nats.server.advisory.v1.client_connect"
DISCONNECTED: Final = "io.nats.server.advisory.v1.client_disconnect"
CONNECTIONS: Final = "io.nats.server.advisory.v1.account_connections"

_REFUSED_IN_ACCOUNT: Final = "$SYS.ACCOUNT.CLIENT.AUTH.ERR"


class ClientEvents:
    """Build connect and disconnect events.

    Args:
        stamp: Names this server, and tells the time.
        ids: Numbers events.
        monotonic_ns: The time in which connections count.
    """

    def __init__(
        self, stamp: ServerStamp, ids: EventIds, *, monotonic_ns: Callable[[], int]
    ) -> None:
        self._stamp = stamp
        self._ids = ids
        self._monotonic_ns = monotonic_ns
        self._accounts = stamp.server.accounts

    def head(self, kind: str) -> dict[str, object]:
        """Return the members that every event begins with."""
        return {
            "type": kind,
            "id": self._ids.next(),
            "timestamp": time_text(self._stamp.wall_ns()),
            "server": self._stamp.make(),
        }

    def make(self, event: ClientEvent) -> Sequence[tuple[str, str]]:
        """Return the events for the system account, each with its subject, as JSON text."""
        account = _account(event.client)
        if event.closed is None:
            client = self._client(event.client, "")
            return [(f"$SYS.ACCOUNT.{account}.CONNECT", f"{self._head(CONNECTED)}{client}}}")]
        events, rest = [], self._rest(event.client, event.closed)
        if event.is_refusal:
            subject = f"$SYS.SERVER.{self._stamp.server.server_id}.CLIENT.AUTH.ERR"
            events.append((subject, self._head(DISCONNECTED) + rest))
        if not (event.is_refusal and event.client.identity.account):
            subject = f"$SYS.ACCOUNT.{account}.DISCONNECT"
            events.append((subject, self._head(DISCONNECTED) + rest))
        return events

    def make_for_account(self, event: ClientEvent) -> tuple[str, str, str] | None:
        """Return the event for the account that a refused client belongs to: (account, ...)."""
        if not event.is_refusal or event.closed is None:
            return None
        text = self._head(DISCONNECTED) + self._rest(event.client, event.closed)
        return _account(event.client), _REFUSED_IN_ACCOUNT, text

    def _head(self, kind: str) -> str:
        """Return as text what `head` returns, up to the member after it."""
        now = time_text(self._stamp.wall_ns())
        event_id, server = self._ids.next(), self._stamp.write()
        return f'{{"type":"{kind}","id":"{event_id}","timestamp":"{now}","server":{server},'

    def _rest(self, client: ClientSeen, closed: Closed) -> str:
        """Return the rest of the event of a client that is gone.

        What a client has sent, the server has received: the event tells it as the client sees it.
        """
        row = closed.row
        rtt = f'"rtt":{row.rtt_ns},' if row.rtt_ns else ""
        stopped = f'{rtt}"stop":"{self._time(closed.closed_ns)}",'
        return (
            f"{self._client(client, stopped)},"
            f'"sent":{{"msgs":{row.in_msgs},"bytes":{row.in_bytes}}},'
            f'"received":{{"msgs":{row.out_msgs},"bytes":{row.out_bytes}}},'
            f'"reason":"{closed.reason.text}"}}'
        )

    def _client(self, client: ClientSeen, stopped: str) -> str:
        """Return the member `client`.

        Args:
            client: Who it is.
            stopped: Members that only an end has, with a comma behind them.
        """
        account = _account(client)
        spec = self._accounts.get(account)
        tag = spec.name_tag or account if spec else account
        start = self._time(client.opened_ns)
        return f'"client":{client_text(client, account, tag, start=start, more=stopped)}'

    def _time(self, monotonic_ns: int) -> str:
        return time_text(self._stamp.wall_ns() - self._monotonic_ns() + monotonic_ns)


def _account(client: ClientSeen) -> str:
    """Return the account of a client; who was not let in counts for `$G`."""
    return client.identity.account or GLOBAL_ACCOUNT
