"""Queue connects and disconnects of clients for their events, and count clients by account.

Clients come and go by the ten thousand a second: what is done here for each is little.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from framework.server.clients.client_notices import ClientSeen, ClientWatcher
from framework.server.system.limits import EVENTS_WAITING_MAX
from framework.spec import ClientIdentity

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.spec import Closed, ConnectionInfo


class ClientEvent(Struct, frozen=True):
    """One client was let in, refused, or has gone."""

    client: ClientSeen
    closed: Closed | None = None
    """None: it was let in."""
    is_refusal: bool = False
    """It was refused, and not gone after having been let in."""


class ClientEventQueue(ClientWatcher):
    """Queue connects and disconnects of clients, for an actor that publishes events."""

    def __init__(self) -> None:
        self.dropped = 0
        """Events that were more than the queue holds."""
        self._wake: Callable[[], None] | None = None
        self._counts: Counter[str] = Counter()
        self._leafnodes: Counter[str] = Counter()
        self._changed: dict[str, None] = {}
        self._waiting: deque[ClientEvent] = deque()
        self._is_awake = False

    @property
    def is_open(self) -> bool:
        """Whether events are queued; they are counted in any case."""
        return self._wake is not None

    def open(self, wake: Callable[[], None]) -> None:
        """Queue events from now on; `wake` is called when there are some, once until `take`."""
        self._wake = wake

    def close(self) -> None:
        """Queue no more events."""
        self._wake = None

    @override
    def client_connected(self, client: ClientSeen) -> None:
        self._count(client.identity.account, 1)
        self._put(ClientEvent(client))

    @override
    def client_disconnected(self, client: ClientSeen, closed: Closed) -> None:
        self._count(client.identity.account, -1)
        self._put(ClientEvent(client, closed))

    @override
    def client_refused(self, client: ClientSeen, closed: Closed) -> None:
        self._put(ClientEvent(client, closed, is_refusal=True))

    def leafnode_came(self, leafnode: ConnectionInfo) -> None:
        """Count a leaf node, or a hub; queue it where its coming is told.

        Source: nats-server 2.15.2 tells of hubs, and of leaf nodes that are users of clients.
        """
        self._count_leafnode(leafnode.account, 1)
        if leafnode.is_dialed or leafnode.is_client_login:
            self._put(ClientEvent(_leafnode_seen(leafnode)))

    def leafnode_went(self, leafnode: ConnectionInfo, closed: Closed | None) -> None:
        """Count a leaf node, or a hub, as gone, and queue that."""
        self._count_leafnode(leafnode.account, -1)
        if closed is not None:
            self._put(ClientEvent(_leafnode_seen(leafnode), closed))

    def _count_leafnode(self, account: str, change: int) -> None:
        self._leafnodes[account] += change
        if not self._leafnodes[account]:
            del self._leafnodes[account]
        self._changed[account] = None
        self._wake_up()

    def take(self) -> tuple[list[ClientEvent], list[str]]:
        """Return the events so far, and the accounts whose number of clients has changed."""
        self._is_awake = False
        events, changed = list(self._waiting), list(self._changed)
        self._waiting.clear()
        self._changed.clear()
        return events, changed

    def count(self, account: str) -> int:
        """Return how many clients an account has here."""
        return self._counts[account]

    def has_any(self, account: str) -> bool:
        """Tell whether an account has clients or leaf nodes here."""
        return account in self._counts or account in self._leafnodes

    @property
    def active_accounts(self) -> int:
        """How many accounts have clients here."""
        return len(self._counts)

    def _put(self, event: ClientEvent) -> None:
        if self._wake is None:
            return
        if len(self._waiting) < EVENTS_WAITING_MAX:
            self._waiting.append(event)
        else:
            self.dropped += 1
        self._wake_up()

    def _wake_up(self) -> None:
        if self._wake is not None and not self._is_awake:
            self._is_awake = True
            self._wake()

    def _count(self, account: str, change: int) -> None:
        self._counts[account] += change
        if not self._counts[account]:
            del self._counts[account]
        self._changed[account] = None


def _leafnode_seen(leafnode: ConnectionInfo) -> ClientSeen:
    """Return a leaf node as events show it; of a hub they show the address alone."""
    if leafnode.is_dialed:
        leafnode = replace(leafnode, name="", version="", user="")
    identity = ClientIdentity(account=leafnode.account, user=leafnode.user)
    return ClientSeen(leafnode, identity, leafnode.opened_ns)
