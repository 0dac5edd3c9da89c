"""Where WebSocket clients reach the servers of a cluster: a machine that is told, and answers.

Source: nats-server `server.go`, `updateServerINFOAndSendINFOToClients`, `sendLDMToClients`;
`route.go`, `addRoute`, `processRouteInfo`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework_websocket.limits import CONNECT_URL_LENGTH_MAX, CONNECT_URLS_MAX

if TYPE_CHECKING:
    from collections.abc import Sequence

FIELD: Final = "ws_connect_urls"
"""In the INFO that servers of a cluster exchange."""


class ConnectUrls:
    """Know the URLs of all servers.

    Args:
        own: Of this server, `host:port` each.
        is_advertised: Servers tell each other of theirs.
    """

    def __init__(self, own: Sequence[str], *, is_advertised: bool) -> None:
        self._own = tuple(own)
        self._is_advertised = is_advertised
        self._of_peers: dict[str, tuple[str, ...]] = {}
        """By server ID, in the order in which they came."""
        self._told = self._own

    @property
    def advertised(self) -> Sequence[str]:
        """Return what other servers are told: where this one is, if clients may be sent here."""
        return self._own if self._is_advertised else ()

    def receive_peer(
        self, server_id: str, said: object, *, is_lame_duck: bool
    ) -> Sequence[str] | None:
        """Take what another server says of itself.

        Args:
            server_id: Who.
            said: What stands in its INFO; None: nothing.
            is_lame_duck: It wants no more clients.

        Returns:
            What clients are to be told now; None: that has not changed.
        """
        self._of_peers.pop(server_id, None)
        urls = () if is_lame_duck else _urls_in(said)
        if urls:
            self._of_peers[server_id] = urls
        return self._changed()

    def set_advertised(self, is_advertised: bool) -> Sequence[str] | None:  # noqa: FBT001 - it is all
        """Let servers tell each other of theirs, or not; return as `receive_peer`."""
        self._is_advertised = is_advertised
        return self._changed()

    def begin_lame_duck(self) -> Sequence[str] | None:
        """Send no client here any more; return as `receive_peer`."""
        self._own = ()
        return self._changed()

    def _changed(self) -> Sequence[str] | None:
        """Return what is new; this server first. It is told of itself only beside others."""
        urls = dict.fromkeys(self._own)
        if self._is_advertised:
            for theirs in self._of_peers.values():
                urls |= dict.fromkeys(theirs)
        if tuple(urls) == self._told:
            return None
        self._told = tuple(urls)
        return self._told


def _urls_in(said: object) -> tuple[str, ...]:
    """Return what may be passed on to clients of what a server says."""
    if not isinstance(said, list):
        return ()
    return tuple(url for url in said[:CONNECT_URLS_MAX] if _is_url(url))


def _is_url(url: object) -> bool:
    return isinstance(url, str) and len(url) <= CONNECT_URL_LENGTH_MAX and url.isprintable()
