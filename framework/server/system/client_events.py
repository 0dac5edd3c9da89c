"""Events about clients, as JSON documents.

Source: nats-server `events.go`, `accountConnectEvent`, `accountDisconnectEvent`,
`sendAuthErrorEvent`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.spec import GLOBAL_ACCOUNT
from framework.spec.formats import time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from framework.server.client_notices import ClientSeen
    from framework.server.system.client_news import News
    from framework.server.system.event_ids import EventIds
    from framework.server.system.server_stamp import ServerStamp
    from framework.spec import Closed

CONNECTED: Final = "io.nats.server.advisory.v1.client_connect"
DISCONNECTED: Final = "io.nats.server.advisory.v1.client_disconnect"
CONNECTIONS: Final = "io.nats.server.advisory.v1.account_connections"

_REFUSED_IN_ACCOUNT: Final = "$SYS.ACCOUNT.CLIENT.AUTH.ERR"


class ClientEvents:
    """Makes events.

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

    def make(self, news: News) -> Sequence[tuple[str, Mapping[str, object]]]:
        """Return the events for the system account, each with its subject."""
        account = _account(news.client)
        if news.closed is None:
            event = {**self.head(CONNECTED), "client": self._client(news.client)}
            return [(f"$SYS.ACCOUNT.{account}.CONNECT", event)]
        events = []
        if news.is_refusal:
            subject = f"$SYS.SERVER.{self._stamp.server.server_id}.CLIENT.AUTH.ERR"
            events.append((subject, self._ended(news.client, news.closed)))
        if not (news.is_refusal and news.client.identity.account):
            subject = f"$SYS.ACCOUNT.{account}.DISCONNECT"
            events.append((subject, self._ended(news.client, news.closed)))
        return events

    def make_for_account(self, news: News) -> tuple[str, str, Mapping[str, object]] | None:
        """Return the event for the account that a refused client belongs to: (account, ...)."""
        if not news.is_refusal or news.closed is None:
            return None
        event = self._ended(news.client, news.closed)
        return _account(news.client), _REFUSED_IN_ACCOUNT, event

    def _ended(self, client: ClientSeen, closed: Closed) -> dict[str, object]:
        """Return the event of a client that is gone.

        What a client has sent, the server has received: the event tells it as the client sees it.
        """
        row = closed.row
        return {
            **self.head(DISCONNECTED),
            "client": self._client(client, closed),
            "sent": {"msgs": row.in_msgs, "bytes": row.in_bytes},
            "received": {"msgs": row.out_msgs, "bytes": row.out_bytes},
            "reason": closed.reason.text,
        }

    def _client(self, client: ClientSeen, closed: Closed | None = None) -> dict[str, object]:
        """Return who the client is; members that are empty are left out."""
        identity, connection, account = client.identity, client.connection, _account(client)
        spec = self._accounts.get(account)
        optional: dict[str, object] = {
            "user": identity.user,
            "name": connection.name,
            "lang": connection.lang,
            "ver": connection.version,
            "rtt": closed.row.rtt_ns if closed else 0,
            "stop": self._time(closed.closed_ns) if closed else "",
            "jwt": identity.jwt,
            "issuer_key": identity.issuer_key,
            "name_tag": spec.name_tag or account if spec else account,
            "tags": list(identity.tags),
        }
        return {
            "start": self._time(client.opened_ns),
            "host": connection.host,
            "id": connection.cid,
            "acc": account,
            **{name: value for name, value in optional.items() if value},
            "kind": "Client",
            "client_type": "nats",
        }

    def _time(self, monotonic_ns: int) -> str:
        return time_text(self._stamp.wall_ns() - self._monotonic_ns() + monotonic_ns)


def _account(client: ClientSeen) -> str:
    """Return the account of a client; who was not let in counts for `$G`."""
    return client.identity.account or GLOBAL_ACCOUNT
