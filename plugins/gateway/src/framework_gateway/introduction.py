"""INFO of this server for gateways, and what its links there are registered with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.peering import Compression, join_host_port, split_advertised
from framework.spec import LinkKind, PeerTerms
from framework.wire.document import build_document
from framework.wire.info import info_line
from framework_gateway.hashing import short_hash
from framework_gateway.info import ALL_INTEREST_BEGINS, ALL_INTEREST_TOLD, GatewayInfo

if TYPE_CHECKING:
    from framework.spec import ServerContext
    from framework_gateway.config import GatewayConfig
    from framework_gateway.effect import Register

REPLY_PREFIX = "_GR_."
"""Source: nats-server `gateway.go`, `gwReplyPrefix`."""
_PLACE = "*"
"""Of the account, in a document."""


def introduce(server: ServerContext, config: GatewayConfig) -> GatewayInfo:
    """Greet servers of other clusters with INFO from now on.

    To be called when addresses are bound, and before anything is accepted.
    """
    local = gateway_info(server, config)
    server.plane.set_info(LinkKind.GATEWAY, build_document(local))
    return local


def gateway_info(server: ServerContext, config: GatewayConfig) -> GatewayInfo:
    """Return what this server tells other clusters of itself.

    Source: nats-server `gateway.go`, `startGatewayAcceptLoop`, `setGatewayInfoHostPort`.
    """
    host, port = server.listening_address(LinkKind.GATEWAY) or (config.host, config.port)
    if config.advertise:
        host, port = split_advertised(config.advertise, port)
    else:
        reachable = server.reachable_hosts(host)
        if not reachable:
            server.log.error("Could not find any non-local IP for gateway {name}", name=config.name)
        host = reachable[0] if reachable else host
    values = server.config.values
    max_payload = values["max_payload"]
    assert isinstance(max_payload, int)
    url = join_host_port(host, port)
    local = GatewayInfo(
        server_id=server.server_id,
        server_name=server.name,
        host=host,
        port=port,
        headers=not values["no_header_support"],
        auth_required=bool(config.login.user),
        tls_required=config.tls is not None,
        tls_verify=config.tls is not None,
        max_payload=max_payload,
        gateway=config.name,
        gateway_urls=(url,),
        gateway_url=url,
        gateway_nrp=True,
        gateway_iom=True,
    )
    compression = compression_of(server, config)
    return compression.offer(local) if compression else local


def compression_of(server: ServerContext, config: GatewayConfig) -> Compression | None:
    """Return what this server wants of compression; None: nothing, and nobody hears of it."""
    if not config.is_compressed:
        return None
    return Compression(config.compression, server.compression_modes)


def peer_terms(local: GatewayInfo, register: Register) -> PeerTerms:
    """Return how a link is registered: messages go out on one that we dialed, interest on others.

    Source: nats-server `gateway.go`, `gatewaySwitchAccountToSendAllSubs`, for the marks.
    """
    if register.is_outbound:
        return PeerTerms(
            accounts=(),
            headers=register.headers,
            traces=register.traces,
            assumes_interest=register.is_optimistic,
            address=f"{own_prefix(local.gateway, local.server_id)}".encode(),
        )
    marks = _mark(local, ALL_INTEREST_BEGINS), _mark(local, ALL_INTEREST_TOLD)
    return PeerTerms(
        headers=register.headers,
        traces=register.traces,
        marks=marks,
        tells_interest=False,
        tells_unknown=register.is_optimistic,
    )


def _mark(local: GatewayInfo, command: int) -> bytes:
    """Return a command about an account, with a zero byte in its place: see `PeerTerms.marks`."""
    told = GatewayInfo(
        version="", proto=0, gateway=local.gateway, gateway_cmd=command, gateway_cmd_payload=_PLACE
    )
    before, _, behind = build_document(told).rpartition(f'"{_PLACE}"'.encode())
    return info_line(before + b'"\0"' + behind)


def cluster_prefix(gateway: str) -> str:
    """Return what replies for a cluster begin with."""
    return f"{REPLY_PREFIX}{short_hash(gateway)}."


def own_prefix(gateway: str, server_id: str) -> str:
    """Return what replies for one server of a cluster begin with."""
    return f"{cluster_prefix(gateway)}{short_hash(server_id)}."
