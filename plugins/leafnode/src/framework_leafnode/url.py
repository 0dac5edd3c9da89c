"""URLs of hubs: `nats-leaf://user:password@host:port`, `wss://host:port/path`."""

from __future__ import annotations

from typing import Final

from framework.peering import PeerUrl, parse_peer_url

DEFAULT_PORT: Final = 7422
"""Source: nats-server `const.go`, `DEFAULT_LEAFNODE_PORT`; that of WebSocket, too."""
TLS_SCHEMES: Final = ("tls", "nats-leaf+tls", "wss")
"""Those that ask for TLS."""
WEBSOCKET_SCHEMES: Final = ("ws", "wss")
_SCHEMES: Final = ("nats-leaf", "nats", "ws", *TLS_SCHEMES)


def parse_hub_url(text: str) -> PeerUrl:
    """Read the URL of a hub; a bare `host:port`, as INFO has it, will do, and so will `host`.

    Raises:
        ValueError: It is not `scheme://[user[:password]@]host[:port]`; says what is wrong with it.
    """
    address = text.rpartition("@")[2].rpartition("://")[2]
    before = text.removesuffix(address)
    host, slash, path = address.partition("/")
    if ":" not in host.rpartition("]")[2]:
        host = f"{host}:{DEFAULT_PORT}"
    return parse_peer_url(f"{before}{host}{slash}{path}", _SCHEMES, with_path=WEBSOCKET_SCHEMES)


def is_websocket(url: PeerUrl | None) -> bool:
    """Tell whether a hub is reached by WebSocket."""
    return url is not None and url.scheme in WEBSOCKET_SCHEMES
