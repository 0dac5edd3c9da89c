"""`ws_connect_urls`: what servers of a cluster tell each other, and clients, of their ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakKeyDictionary

from framework_websocket.connect_urls import FIELD, ConnectUrls
from framework_websocket.urls import own_urls

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from framework.spec import ServerContext

TRANSPORT: Final = "websocket"

_GOSSIPS: WeakKeyDictionary[ServerContext, Gossip] = WeakKeyDictionary()
"""Of each server of this process with a port and a cluster: hooks share it in no other way."""


class Peer(Protocol):
    """A server of the cluster, as the route plugin names it."""

    server_id: str
    is_lame_duck: bool


class Gossip:
    """Tell others of this server's port, and its clients of those of all.

    Args:
        server: This one; its port is bound.
        change: Changes the fields of INFO that it sends to the others.
    """

    def __init__(
        self, server: ServerContext, change: Callable[[Mapping[str, object | None]], None]
    ) -> None:
        self._server = server
        self._change = change
        self._urls = ConnectUrls(own_urls(server), is_advertised=_is_advertised(server))
        self._said = self._urls.advertised

    def fields(self) -> Mapping[str, Sequence[str]]:
        """Return what the others are told from the beginning."""
        return {FIELD: self._said} if self._said else {}

    def receive(self, peer: Peer, fields: Mapping[str, object]) -> None:
        """Take what another server says."""
        said = fields.get(FIELD)
        self._tell(self._urls.receive_peer(peer.server_id, said, is_lame_duck=peer.is_lame_duck))

    def follow_reload(self) -> None:
        """Tell the others, and clients, what the configuration allows now."""
        self._tell(self._urls.set_advertised(_is_advertised(self._server)))

    def begin_lame_duck(self) -> None:
        """Take this server out of what the others and its clients are told."""
        self._tell(self._urls.begin_lame_duck())

    def _tell(self, urls: Sequence[str] | None) -> None:
        """Tell clients these, if that is new (not None), and the others what is new to them."""
        if urls is not None:
            self._server.update_transport_info(TRANSPORT, {"connect_urls": list(urls) or None})
        if self._said != self._urls.advertised:
            self._said = self._urls.advertised
            self._change({FIELD: self._said or None})


def begin(server: ServerContext, change: Callable[[Mapping[str, object | None]], None]) -> Gossip:
    """Begin the gossip of a server."""
    gossip = _GOSSIPS[server] = Gossip(server, change)
    return gossip


def find(server: ServerContext) -> Gossip | None:
    """Return the gossip of a server; None: it is in no cluster, or has no port."""
    return _GOSSIPS.get(server)


def _is_advertised(server: ServerContext) -> bool:
    """Tell whether servers of the cluster tell each other where their clients connect."""
    return not (server.config.section("cluster") or {}).get("no_advertise")
