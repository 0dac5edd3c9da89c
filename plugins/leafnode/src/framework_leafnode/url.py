"""URLs of hubs: `nats-leaf://user:password@host:port`, `wss://host:port/path`; and of proxies."""

from __future__ import annotations

from typing import Final

from framework.peering import PeerUrl, parse_peer_url

DEFAULT_PORT: Final = 7422
"""Source: nats-server `const.go`, `DEFAULT_LEAFNODE_PORT`; that of WebSocket, too."""
TLS_SCHEMES: Final = ("tls", "nats-leaf+tls", "wss")
"""Those that ask for TLS."""
WEBSOCKET_SCHEMES: Final = ("ws", "wss")
_SCHEMES: Final = ("nats-leaf", "nats", "ws", *TLS_SCHEMES)
_PROXY_PORT: Final = 80
"""Source: nats-server `leafnode.go`, `proxyDialAddress`."""


def parse_hub_url(text: str) -> PeerUrl:
    """Read the URL of a hub; a bare `host:port`, as INFO has it, will do, and so will `host`.

    Raises:
        ValueError: It is not `scheme://[user[:password]@]host[:port]`; says what is wrong with it.
    """
    return parse_peer_url(_with_port(text, DEFAULT_PORT), _SCHEMES, with_path=WEBSOCKET_SCHEMES)


def parse_proxy_url(text: str) -> PeerUrl:
    """Read the URL of an HTTP proxy.

    Raises:
        ValueError: It is not `http://host[:port]`; says what is wrong with it.
    """
    scheme, is_url, _ = text.partition("://")
    if not is_url:
        raise ValueError("scheme is missing")
    if scheme == "https":
        raise ValueError("TLS with a proxy is not there yet")
    url = parse_peer_url(_with_port(text, _PROXY_PORT), ("http",))
    if url.user or url.password:
        raise ValueError("a login stands in `username` and `password`")
    return url


def _with_port(text: str, port: int) -> str:
    address = text.rpartition("@")[2].rpartition("://")[2]
    before = text.removesuffix(address)
    host, slash, path = address.partition("/")
    if ":" not in host.rpartition("]")[2]:
        host = f"{host}:{port}"
    return f"{before}{host}{slash}{path}"


def is_websocket(url: PeerUrl | None) -> bool:
    """Tell whether a hub is reached by WebSocket."""
    return url is not None and url.scheme in WEBSOCKET_SCHEMES
