"""Where the other servers of this cluster accept leaf nodes, as hooks of routes tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakKeyDictionary

from framework.wire.info import is_name
from framework_leafnode.limits import NEIGHBOURS_MAX, URLS_MAX
from framework_leafnode.peer import Urls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.spec import ServerContext

URLS_FIELD: Final = "leafnode_urls"
"""Of INFO on routes: one URL, of the server that says it."""
WEBSOCKET_URLS_FIELD: Final = "ws_connect_urls"
"""The same for who comes by WebSocket: any number, as the websocket plugin says them."""

_NEIGHBOURS: WeakKeyDictionary[ServerContext, Neighbours] = WeakKeyDictionary()
"""Of each server of this process with leaf nodes: hooks share it in no other way."""


class Peer(Protocol):
    """A server of the cluster, as the route plugin names it."""

    server_id: str


class Neighbours:
    """What hooks tell of other servers of the cluster."""

    def __init__(self) -> None:
        self._urls: dict[str, Urls] = {}
        """By server ID."""

    @property
    def urls(self) -> Urls:
        """Return where each accepts leaf nodes."""
        known = self._urls.values()
        return Urls(
            tuple(url for its in known for url in its.plain),
            tuple(dict.fromkeys(url for its in known for url in its.websocket)),
        )

    def receive_fields(self, peer: Peer, fields: Mapping[str, object]) -> None:
        """Take what a server says in INFO; no fields: it is gone, or says nothing any more."""
        plain = _names(fields.get(URLS_FIELD))
        urls = Urls(plain if len(plain) == 1 else (), _names(fields.get(WEBSOCKET_URLS_FIELD)))
        if urls == Urls():
            self._urls.pop(peer.server_id, None)
        elif peer.server_id in self._urls or len(self._urls) < NEIGHBOURS_MAX:
            self._urls[peer.server_id] = urls


def _names(said: object) -> tuple[str, ...]:
    """Return what may be passed on of a list of URLs that a server says."""
    if not isinstance(said, list):
        return ()
    return tuple(url for url in said[:URLS_MAX] if isinstance(url, str) and is_name(url))


def neighbours_of(server: ServerContext) -> Neighbours:
    """Return what is known of the other servers of the cluster of a server."""
    return _NEIGHBOURS.setdefault(server, Neighbours())
