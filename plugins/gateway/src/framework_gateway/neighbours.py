"""The other servers of this cluster: where their gateways are, and which routes lead to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

from msgspec import Struct

from framework.wire.info import is_name
from framework_gateway.limits import NEIGHBOURS_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.spec import LinkId, ServerContext

URL_FIELD = "gateway_url"
"""Of INFO on routes."""

_NEIGHBOURS: WeakKeyDictionary[ServerContext, Neighbours] = WeakKeyDictionary()
"""Of each server of this process with gateways: hooks share it in no other way."""


class Peer(Protocol):
    """A server of the cluster, as the route plugin names it."""

    server_id: str
    name: str
    is_lame_duck: bool


class Seen(Struct, frozen=True):
    """The other servers as they are at the moment."""

    names: tuple[str, ...]
    urls: Mapping[str, str]
    """`host:port` of gateways, by server name."""
    ways: Mapping[str, LinkId]
    """A route to each server, by server ID."""


class Neighbours:
    """What hooks tell of other servers of the cluster; the manager asks, and is told of changes."""

    def __init__(self) -> None:
        self._peers: dict[str, tuple[str, str]] = {}
        """Name and URL by server ID."""
        self._routes: dict[LinkId, str] = {}
        """Names of servers by routes for all accounts, or those of a pool."""
        self.gossip: Callable[[Mapping[str, object]], None] | None = None
        """Tells them of another cluster; None: there are no routes."""

    @property
    def seen(self) -> Seen:
        """Return the other servers."""
        links = {name: link for link, name in reversed(self._routes.items())}
        return Seen(
            names=tuple(name for name, _ in self._peers.values()),
            urls={name: url for name, url in self._peers.values() if url},
            ways={
                server_id: links[name]
                for server_id, (name, _) in self._peers.items()
                if name in links
            },
        )

    def receive_fields(self, peer: Peer, fields: Mapping[str, object]) -> None:
        """Take what a server says in INFO; no fields: it is gone, or says nothing any more.

        A lame duck is still reached by its route, but no cluster is told of its gateway.
        """
        url = "" if peer.is_lame_duck else fields.get(URL_FIELD)
        if not isinstance(url, str) or not is_name(url):
            url = ""
        if not fields:
            self._peers.pop(peer.server_id, None)
        elif peer.server_id in self._peers or len(self._peers) < NEIGHBOURS_MAX:
            self._peers[peer.server_id] = (peer.name, url)

    def receive_route(self, link: LinkId, name: str) -> None:
        """Take that a route has come."""
        self._routes[link] = name

    def receive_closed(self, link: LinkId) -> None:
        """Take that a route has gone."""
        self._routes.pop(link, None)


def neighbours_of(server: ServerContext) -> Neighbours:
    """Return what is known of the other servers of the cluster of a server."""
    return _NEIGHBOURS.setdefault(server, Neighbours())
