"""INFO of this server for leaf nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.peering import Compression, join_host_port, split_advertised
from framework.spec import LinkKind
from framework.wire.document import build_document
from framework_leafnode.info import LeafInfo

if TYPE_CHECKING:
    from framework.spec import ServerContext
    from framework_leafnode.config import LeafConfig

_WEBSOCKET: Final = "websocket"
"""The transport, and its block, where the server has it."""


def introduce(server: ServerContext, config: LeafConfig) -> LeafInfo:
    """Greet leaf nodes with INFO from now on.

    To be called when addresses are bound, and before anything is accepted.
    """
    local = leaf_info(server, config)
    server.plane.set_info(LinkKind.LEAF, build_document(local))
    return local


def leaf_info(server: ServerContext, config: LeafConfig) -> LeafInfo:
    """Return what this server tells leaf nodes of itself.

    Source: nats-server `leafnode.go`, `startLeafNodeAcceptLoop`, `setLeafNodeInfoHostPortAndIP`.
    """
    values = server.config.values
    max_payload = values["max_payload"]
    assert isinstance(max_payload, int)
    host, port = _address(server, config)
    ip = join_host_port(host, port) if config.port is not None and config.is_advertised else ""
    local = LeafInfo(
        server_id=server.server_id,
        server_name=server.name,
        host=host,
        port=port,
        ip=ip,
        headers=not values["no_header_support"],
        auth_required=True,
        tls_required=config.tls is not None,
        tls_verify=config.tls is not None and config.tls.verify,
        max_payload=max_payload,
        jetstream=server.accounts.jetstream_domain is not None,
        domain=_domain(server),
        cluster=server.cluster_name,
        info_on_connect=True,
        leafnode_urls=(ip,) if ip else (),
        ws_connect_urls=_websocket_urls(server),
    )
    return Compression(config.settings.compression, server.compression_modes).offer(local)


def _address(server: ServerContext, config: LeafConfig) -> tuple[str, int]:
    """Return where leaf nodes are told to connect."""
    host, port = server.listening_address(LinkKind.LEAF) or (config.host, config.port or 0)
    if config.advertise:
        return split_advertised(config.advertise, port)
    reachable = server.reachable_hosts(host)
    if not reachable and config.port is not None:
        server.log.error("Could not find any non-local IP for leafnode's listen specification")
    return reachable[0] if reachable else host, port


def _websocket_urls(server: ServerContext) -> tuple[str, ...]:
    """Return where leaf nodes, as clients, come by WebSocket: `host:port` each.

    Source: nats-server `server.go`, `getConnectURLs`; `leafnode.go`, `generateLeafNodeInfoJSON`.
    """
    address = server.listening_address(_WEBSOCKET)
    if address is None:
        return ()
    host, port = address
    advertise = (server.config.section(_WEBSOCKET) or {}).get("advertise")
    if isinstance(advertise, str) and advertise:
        return (join_host_port(*split_advertised(advertise, port)),)
    return tuple(join_host_port(each, port) for each in server.reachable_hosts(host))


def _domain(server: ServerContext) -> str:
    """Return the domain of JetStream; one without streams may name what it belongs to as well."""
    configured = (server.config.section("jetstream") or {}).get("domain")
    own = server.accounts.jetstream_domain
    return own if own is not None else configured if isinstance(configured, str) else ""
