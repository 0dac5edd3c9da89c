"""Registry of connections, slots and peers."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from framework_route.peer import Peer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.spec import LinkId
    from framework.wire.info import RouteInfo
    from framework_route.peer import Connection, Slot
    from framework_route.pool import PoolTerms


class Registry:
    """Hold every connection, and every peer with at least one slot taken."""

    def __init__(self) -> None:
        self._connections: dict[LinkId, Connection] = {}
        self._peers: dict[str, Peer] = {}
        self._numbers = count(1)

    @property
    def peers(self) -> Sequence[Peer]:
        """Return the other servers, in the order in which they came."""
        return tuple(self._peers.values())

    @property
    def routes(self) -> Sequence[Connection]:
        """Return the connections that are routes, peer by peer in order of registration."""
        return tuple(c for peer in self._peers.values() for c in peer.connections.values())

    @property
    def connections(self) -> Sequence[Connection]:
        """Return all, also those that are no routes yet."""
        return tuple(self._connections.values())

    def add(self, connection: Connection) -> None:
        """Remember a new connection."""
        self._connections[connection.link] = connection

    def get(self, link: LinkId) -> Connection | None:
        """Return a connection; None when it is gone."""
        return self._connections.get(link)

    def pop(self, link: LinkId) -> Connection | None:
        """Forget a connection and return it; its place must be freed by `release`."""
        return self._connections.pop(link, None)

    def peer(self, remote_id: str) -> Peer | None:
        """Return a server that has a route here."""
        return self._peers.get(remote_id)

    def holder(self, slot: Slot) -> Connection | None:
        """Return the connection that has a place."""
        peer = self._peers.get(slot.remote_id)
        return peer.connections.get(slot) if peer else None

    def take(self, connection: Connection, slot: Slot, info: RouteInfo, terms: PoolTerms) -> Peer:
        """Give a free place to a connection; the first one of a server makes it a peer."""
        peer = self._peers.get(slot.remote_id)
        if peer is None:
            peer = self._peers[slot.remote_id] = Peer(next(self._numbers), info, terms)
        assert slot not in peer.connections
        peer.connections[slot] = connection
        connection.slot = slot
        connection.info = info
        return peer

    def release(self, connection: Connection) -> Peer | None:
        """Free the place of a connection, so that another one may have it at once.

        Returns:
            Its peer, which is forgotten when it has no other place; None when it had none itself.
        """
        slot, connection.slot = connection.slot, None
        if slot is None:
            return None
        peer = self._peers[slot.remote_id]
        del peer.connections[slot]
        if not peer.connections:
            del self._peers[slot.remote_id]
        return peer

    def free_indexes(self, peer: Peer) -> Iterator[int]:
        """Yield the places of the pool that nobody has, the lowest first."""
        taken = {connection.slot.pool_index for connection in peer.pool() if connection.slot}
        return (index for index in range(peer.terms.size) if index not in taken)
