"""INFO and CONNECT of routes: checks, and the lines that are sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from framework.errors import ProtocolError
from framework.peering import join_host_port
from framework.wire.closed_state import ClosedState
from framework.wire.document import build_document, parse_document
from framework.wire.info import RouteConnect, RouteInfo, connect_line, info_line
from framework_route.limits import CODECS_MAX, CONNECT_URLS_MAX, NAME_LENGTH_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.peering import PeerUrl
    from framework_route.compression import Choice

TRACE_PROTOCOL = 3
"""Servers with this route protocol, or a later one, report what becomes of messages that ask.

Source: nats-server `server.go`, `MsgTraceProto`.
"""

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


def parse_info(document: bytes) -> RouteInfo:
    """Read an INFO; what may be shown or passed on is printable and short afterwards.

    Raises:
        ProtocolError: It is no INFO of a server.
    """
    info = parse_document(RouteInfo, document)
    for name in _INFO_NAMES:
        _check_name(name, getattr(info, name))
    if not info.server_id and not info.route_acc_add_reqid:
        raise _malformed("server_id is missing")
    urls = [url for url in info.connect_urls if _is_name(url)]
    codecs = [name for name in info.codecs if _is_name(name)]
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
    for name in ("name", "cluster", "gateway"):
        _check_name(name, getattr(connect, name))
    return connect


def greeting(local: RouteInfo, url: PeerUrl) -> bytes:
    """Return what this server says first to the one that it dialed.

    Without `lnoc` peers send interest and messages of leafnodes as any other, which is all that
    this server understands.
    """
    connect = RouteConnect(
        user=url.user,
        password=url.password,
        tls_required=local.tls_required,
        headers=local.headers,
        name=local.server_id,
        cluster=local.cluster,
        cluster_dynamic=local.cluster_dynamic,
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


def _check_name(name: str, value: str) -> None:
    if not _is_name(value):
        raise _malformed(f"{name} is too long or not printable")


def _is_name(value: str) -> bool:
    return len(value) <= NAME_LENGTH_MAX and value.isprintable()


def _malformed(detail: str) -> ProtocolError:
    return ProtocolError(detail, text="Parser Error", reason=ClosedState.PROTOCOL_VIOLATION)
