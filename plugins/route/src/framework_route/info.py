"""INFO and CONNECT of routes: checks, and the lines that are sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from framework.peering import CODECS_MAX, join_host_port
from framework.wire.document import build_document, parse_document
from framework.wire.info import (
    RouteConnect,
    RouteInfo,
    check_names,
    connect_line,
    info_line,
    is_name,
    refused_document,
)
from framework_route.limits import CONNECT_URLS_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.peering import Choice, PeerUrl

_INFO_NAMES = (
    "server_id",
    "server_name",
    "version",
    "host",
    "ip",
    "cluster",
    "route_account",
    "route_acc_add_reqid",
    "gateway",
    "compression",
    "codec",
)


def port_of(info: RouteInfo) -> str:
    """Return which port a server has, by an INFO that is no route's."""
    if info.gateway:
        return "gateway"
    is_leaf = info.info_on_connect or "leafnode_urls" in info.others
    return "leaf node" if is_leaf else "client"


def parse_info(document: bytes) -> RouteInfo:
    """Read an INFO; what may be shown or passed on is printable and short afterwards.

    Raises:
        ProtocolError: It is no INFO of a server.
    """
    info = parse_document(RouteInfo, document)
    check_names(info, _INFO_NAMES)
    if not info.server_id and not info.route_acc_add_reqid:
        raise refused_document("server_id is missing")
    urls = [url for url in info.connect_urls if is_name(url)]
    codecs = [name for name in info.codecs if is_name(name)]
    return replace(
        info,
        connect_urls=tuple(urls[:CONNECT_URLS_MAX]),
        codecs=tuple(codecs[:CODECS_MAX]),
        nonce="",
    )


def parse_connect(document: bytes) -> RouteConnect:
    """Read a CONNECT; what may be shown is printable and short afterwards.

    Raises:
        ProtocolError: It is no CONNECT.
    """
    connect = parse_document(RouteConnect, document)
    check_names(connect, ("name", "cluster", "gateway"))
    return connect


def greeting(local: RouteInfo, url: PeerUrl) -> bytes:
    """Return what this server says first to the one that it dialed."""
    connect = RouteConnect(
        user=url.user,
        password=url.password,
        tls_required=local.tls_required,
        headers=local.headers,
        name=local.server_id,
        cluster=local.cluster,
        cluster_dynamic=local.cluster_dynamic,
        lnoc=local.lnoc,
        lnocu=local.lnocu,
    )
    return connect_line(build_document(connect))


def introduction(
    local: RouteInfo, choice: Choice, *, pool_index: int = 0, pool_size: int = 0, account: str = ""
) -> bytes:
    """Return the INFO of this server for one connection.

    Args:
        local: What all connections are told.
        choice: Its compression.
        pool_index: Its place in the pool; 0-based.
        pool_size: What the pool comes to with this peer.
        account: The only one that it carries; empty: those of its place.
    """
    told = replace(
        local,
        compression=choice.compression,
        codec=choice.codec_name,
        route_pool_agreed=pool_size,
        route_pool_idx=pool_index,
        route_account=account,
    )
    return info_line(build_document(told))


def gossip(info: RouteInfo, account: str) -> bytes:
    """Return the line that tells one server of another, or of its connection for one account."""
    told = replace(
        info, gossip_mode=0, route_pool_agreed=0, route_pool_idx=0, route_account=account
    )
    return info_line(build_document(told))


def about_another(local: RouteInfo, document: Mapping[str, object]) -> bytes:
    """Return the line that tells of another cluster.

    Its `server_id` is nobody's, lest it be taken for that of a server to connect to. Source:
    nats-server `gateway.go`, `forwardNewGatewayToLocalCluster`.
    """
    gateway = document["gateway"]
    assert isinstance(gateway, str)
    told = RouteInfo(
        server_id=f"GW{local.server_id}",
        server_name=local.server_name,
        gateway=gateway,
        others={name: it for name, it in document.items() if name != "gateway"},
    )
    return info_line(build_document(told))


def route_url(info: RouteInfo) -> str:
    """Return the URL under which a server wants to be dialed, as it says itself."""
    return info.ip or f"nats-route://{join_host_port(info.host, info.port)}/"
