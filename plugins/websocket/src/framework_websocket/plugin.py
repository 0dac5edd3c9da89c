"""Hook implementations of the WebSocket plugin."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from framework.hookspecs import hookimpl
from framework.spec import HealthCheck, LinkKind, MonitorFields, TransportSpec, WebSocketFrames
from framework.topology import TopologyError
from framework_websocket.config import WebSocketConfig, websocket_section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from framework.spec import Arrival, ServerContext, TransportHandshake
    from framework.topology import ConfigDiff, ConfigSection
    from framework_websocket.gossip import Gossip, Peer

NAME: Final = "websocket"


@hookimpl
def framework_config_sections() -> Iterable[ConfigSection]:
    """Declare the block `websocket`."""
    return [websocket_section()]


@hookimpl
def framework_transports(server: ServerContext) -> Iterable[TransportSpec]:
    """Open the port, if the block has one."""
    config = server.config.section_as(WebSocketConfig)
    if config is None:
        return []
    can_compress = config.compresses and server.can_compress_frames()
    if config.compresses and not can_compress:
        server.log.warning(
            "{option} is not in force: this Python shows nothing of its zlib",
            option="websocket.compression",
        )
    if config.tls is None:
        server.log.warning("Websocket not configured with TLS. DO NOT USE IN PRODUCTION!")
    return [
        TransportSpec(
            name=NAME,
            host=config.host,
            port=config.port,
            tls=config.tls,
            stages=(WebSocketFrames(),),
            handshake=partial(_upgrade, server, config, can_compress),
            handshake_timeout_s=config.handshake_timeout_s,
            connection_type="WEBSOCKET",
            connection_id="wid",
            scheme="ws",
            title="websocket clients",
            no_auth_user=config.no_auth_user,
            login=config.login,
            auth_timeout_s=config.auth_timeout_s,
            ping_interval_s=config.ping_interval_s,
        )
    ]


def _upgrade(
    server: ServerContext,
    config: WebSocketConfig,
    can_compress: bool,  # noqa: FBT001 - a part of it
    arrival: Arrival,
) -> TransportHandshake:
    from framework_websocket.handshake import Upgrade  # noqa: PLC0415 - h11, for the first client

    has_leafnodes = server.listening_address(LinkKind.LEAF) is not None
    return Upgrade(config, arrival, can_compress=can_compress, has_leafnodes=has_leafnodes)


@hookimpl
def framework_server_info(server: ServerContext) -> Mapping[str, object]:
    """Tell clients of this port where they reach the server by WebSocket, as others their own."""
    config = server.config.section_as(WebSocketConfig)
    if config is not None:
        server.update_transport_info(NAME, {"connect_urls": None})
    return {}


@hookimpl
def framework_monitor_fields(server: ServerContext) -> Iterable[MonitorFields]:
    """Fill `websocket` in `/varz`."""
    if server.config.section_as(WebSocketConfig) is None:
        return []
    from framework_websocket.varz import varz_fields  # noqa: PLC0415 - for who has the port

    make = partial(varz_fields, server)
    return [MonitorFields(document="/varz", names=("websocket",), make=make)]


@hookimpl
def framework_health_checks(server: ServerContext) -> Iterable[HealthCheck]:
    """Report a server whose WebSocket port is not open as unhealthy."""
    if server.config.section_as(WebSocketConfig) is None:
        return []
    return [HealthCheck(name=NAME, check=partial(_listener_problem, server))]


@hookimpl(optionalhook=True)
def framework_route_info_fields(
    server: ServerContext, change: Callable[[Mapping[str, object | None]], None]
) -> Mapping[str, object]:
    """Tell the other servers of the cluster where WebSocket clients reach this one."""
    if server.config.section_as(WebSocketConfig) is None:
        return {}
    from framework_websocket import gossip  # noqa: PLC0415 - for who has port and cluster

    return gossip.begin(server, change).fields()


@hookimpl(optionalhook=True)
def framework_route_info_received(
    server: ServerContext, peer: Peer, fields: Mapping[str, object]
) -> None:
    """Tell clients of this port where they reach another server."""
    if found := _gossip(server):
        found.receive(peer, fields)


@hookimpl
def framework_lame_duck(server: ServerContext) -> None:
    """Send clients to other servers."""
    if found := _gossip(server):
        found.begin_lame_duck()


@hookimpl
def framework_check_reload(server: ServerContext, diff: ConfigDiff) -> Iterable[TopologyError]:
    """Refuse certificates that clients could not be shown."""
    config = diff.config.section_as(WebSocketConfig)
    problem = server.check_tls(config.tls) if config else None
    if problem is None:
        return []
    return [TopologyError(diff.config.source("websocket.tls"), f"`websocket`: {problem}")]


@hookimpl
def framework_reloaded(server: ServerContext) -> None:
    """Show new certificates to new clients, and follow `no_advertise` of the cluster."""
    config = server.config.section_as(WebSocketConfig)
    if config is not None:
        server.configure_tls(NAME, config.tls)
    if found := _gossip(server):
        found.follow_reload()


def _gossip(server: ServerContext) -> Gossip | None:
    if server.config.section_as(WebSocketConfig) is None:
        return None
    from framework_websocket import gossip  # noqa: PLC0415 - for who has port and cluster

    return gossip.find(server)


def _listener_problem(server: ServerContext) -> str | None:
    if server.listening_address(NAME) is None:
        return "not listening for websocket clients"
    return None
