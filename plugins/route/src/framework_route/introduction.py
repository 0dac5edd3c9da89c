"""INFO of this server for routes and for clients."""

from __future__ import annotations

import random
import string
from typing import TYPE_CHECKING

from msgspec.structs import replace

from framework.peering import join_host_port, split_advertised
from framework.spec import LinkKind, Permissions
from framework.wire.document import build_document
from framework.wire.info import RouteInfo
from framework.wire.version import ROUTE_PROTOCOL
from framework_route.effective import compression_of
from framework_route.permissions import told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.spec import ServerContext
    from framework_route.config import RouteConfig

_NAME_CHARS = string.ascii_letters + string.digits
_NAME_LENGTH = 22
"""Of a cluster name that is made up; as long as a nuid, nats-server's own choice."""


def introduce(
    server: ServerContext, config: RouteConfig, others: Mapping[str, object] | None = None
) -> RouteInfo:
    """Name the cluster, and greet other servers with INFO from now on.

    Clients are told where servers are when there is a second one. Source: nats-server `server.go`,
    `updateServerINFOAndSendINFOToClients`.

    To be called when addresses are bound, and before anything is accepted.

    Args:
        server: This one.
        config: Of its routes.
        others: Fields of INFO that plugins have.
    """
    name = config.name or server.cluster_name
    is_made_up = not name
    if is_made_up:
        name = "".join(
            random.SystemRandom().choices(string.ascii_letters + string.digits, k=_NAME_LENGTH)
        )
        server.log.warning("Cluster name was dynamically generated, consider setting one")
    server.set_cluster_name(name, dynamic=is_made_up)
    local = replace(route_info(server, config), cluster_dynamic=is_made_up, others=others or {})
    server.plane.set_info(LinkKind.ROUTE, build_document(local))
    return local


def route_info(server: ServerContext, config: RouteConfig) -> RouteInfo:
    """Return what this server tells others of itself, by the name that the cluster has now."""
    connect_urls = own_client_urls(server) if config.mesh.is_advertised else ()
    host, port = server.listening_address(LinkKind.ROUTE) or (config.host, config.port)
    ip = ""
    if config.advertise:
        host, port = split_advertised(config.advertise, port)
        ip = f"nats-route://{join_host_port(host, port)}/"
    values = server.config.values
    permissions = config.permissions or Permissions()
    local = RouteInfo(
        server_id=server.server_id,
        server_name=server.name,
        proto=ROUTE_PROTOCOL,
        host=host,
        port=port,
        ip=ip,
        headers=not values["no_header_support"],
        max_payload=_integer(values, "max_payload"),
        auth_required=bool(config.login.user),
        tls_required=config.tls is not None,
        tls_verify=config.tls is not None,
        cluster=server.cluster_name,
        cluster_dynamic=not config.name,
        connect_urls=connect_urls,
        import_=told(permissions.publish),
        export=told(permissions.subscribe),
        lnoc=True,
        lnocu=True,
        route_pool_size=max(0, config.mesh.pool_size),
        pool_shared=True,
    )
    return compression_of(server, config).offer(local)


def own_client_urls(server: ServerContext) -> tuple[str, ...]:
    """Return where clients reach this server, as `host:port`.

    Source: nats-server `server.go`, `getConnectURLs`.
    """
    host, port = server.listening_address(LinkKind.CLIENT) or ("", 0)
    advertised = server.config.values["client_advertise"]
    if advertised:
        return (join_host_port(*split_advertised(str(advertised), port)),)
    if not port:
        return ()
    hosts = server.reachable_hosts(host)
    if not hosts:
        server.log.error('Address "{address}" can not be resolved properly', address=host)
    return tuple(join_host_port(each, port) for each in hosts)


def _integer(values: Mapping[str, object], name: str) -> int:
    value = values[name]
    assert isinstance(value, int)
    return value
