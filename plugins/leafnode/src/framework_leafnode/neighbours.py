"""Where the other servers of this cluster accept leaf nodes, as hooks of routes tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakKeyDictionary

from framework.wire.info import is_name
from framework_leafnode.limits import NEIGHBOURS_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.spec import ServerContext

URLS_FIELD: Final = "leafnode_urls"
"""Of INFO on routes: one URL, of the server that says it."""

_NEIGHBOURS: WeakKeyDictionary[ServerContext, Neighbours] = WeakKeyDictionary()
"""Of each server of this process with leaf nodes: hooks share it in no other way."""


class Peer(Protocol):
    """A server of the cluster, as the route plugin names it."""

    server_id: str


class Neighbours:
    """What hooks tell of other servers of the cluster."""

    def __init__(self) -> None:
        self._urls: dict[str, str] = {}
        """By server ID."""

    @property
    def urls(self) -> tuple[str, ...]:
        """Return `host:port` of each that accepts leaf nodes."""
        return tuple(self._urls.values())

    def receive_fields(self, peer: Peer, fields: Mapping[str, object]) -> None:
        """Take what a server says in INFO; no fields: it is gone, or says nothing any more."""
        said = fields.get(URLS_FIELD)
        url = said[0] if isinstance(said, list) and len(said) == 1 else None
        if not isinstance(url, str) or not is_name(url):
            self._urls.pop(peer.server_id, None)
        elif peer.server_id in self._urls or len(self._urls) < NEIGHBOURS_MAX:
            self._urls[peer.server_id] = url


def neighbours_of(server: ServerContext) -> Neighbours:
    """Return what is known of the other servers of the cluster of a server."""
    return _NEIGHBOURS.setdefault(server, Neighbours())
