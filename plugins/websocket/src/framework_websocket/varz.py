"""WebSocket in `/varz`. Source: nats-server `monitor.go`, `createVarz`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework.spec.formats import tls_end
from framework_websocket.config import WebSocketConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.spec import ServerContext

_NS_PER_S = 1_000_000_000


async def varz_fields(server: ServerContext) -> Mapping[str, object]:
    """Return the fields."""
    config = server.config.section_as(WebSocketConfig)
    address = server.listening_address("websocket")
    if config is None or address is None:
        return {}
    said: Mapping[str, Any] = server.config.section("websocket") or {}
    tls = config.tls
    document = {
        "host": address[0],
        "port": address[1],
        "advertise": config.advertise,
        "no_auth_user": config.no_auth_user,
        "jwt_cookie": config.cookies.jwt,
        "handshake_timeout": round((said["handshake_timeout"] or 0) * _NS_PER_S),
        "auth_timeout": config.auth_timeout_s,
        "no_tls": said["no_tls"],
        "tls_map": bool(said["tls"] and said["tls"]["verify_and_map"]),
        "tls_pinned_certs": sorted(tls.pinned) if tls else [],
        "same_origin": config.same_origin,
        "allowed_origins": list(said["allowed_origins"]),
        "compression": config.compresses,
        **tls_end(server.tls_facts("websocket")),
    }
    return {"websocket": {name: value for name, value in document.items() if value}}
