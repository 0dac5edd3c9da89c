"""Where WebSocket clients reach this server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework_websocket.config import WebSocketConfig

if TYPE_CHECKING:
    from framework.spec import ServerContext


def own_urls(server: ServerContext) -> tuple[str, ...]:
    """Return `host:port` of this server for WebSocket clients.

    Source: nats-server `server.go`, `getConnectURLs`.
    """
    config = server.config.section_as(WebSocketConfig)
    address = server.listening_address("websocket")
    if config is None or address is None:
        return ()
    host, port = address
    if config.advertise:
        name, _, digits = config.advertise.rpartition(":")
        if name and digits.isdecimal():
            return (config.advertise,)
        return (f"{config.advertise}:{port}",)
    return tuple(_joined(each, port) for each in server.reachable_hosts(host))


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
