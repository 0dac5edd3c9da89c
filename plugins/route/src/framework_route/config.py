"""Settings of the block `cluster`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from framework.peering import (
    CompressionTerms,
    Login,
    compression_terms,
    peer_tls,
    read_login,
)
from framework_route.options import COMPRESSION_MODE, cluster_options
from framework_route.permissions import route_permissions
from framework_route.settings import MeshSettings
from framework_route.url import parse_route_url

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from framework.peering import PeerUrl
    from framework.spec import Permissions, TlsSettings
    from framework.topology import ConfigSection


class LinkTimes(Struct, frozen=True, kw_only=True):
    """Timeouts and pings of routes; None: as clients."""

    ping_interval_s: float | None = None
    ping_max: int | None = None
    write_deadline_s: float | None = None
    closes_slow: bool = False
    """A route that takes nothing within the deadline is closed, rather than tried again."""


class RouteConfig(Struct, frozen=True):
    """The `cluster` block of a server."""

    name: str
    """Empty: to be made up."""
    host: str
    port: int
    """0: any free one."""
    advertise: str
    """`host` or `host:port`; empty: peers find out by themselves."""
    login: Login
    mesh: MeshSettings
    accounts: tuple[str, ...] = ()
    """With connections of their own, beside the system account."""
    tls: TlsSettings | None = None
    """None: routes are plain."""
    permissions: Permissions | None = None
    """Which subjects cross routes; None: all."""
    times: LinkTimes = field(default_factory=LinkTimes)
    compression: CompressionTerms = CompressionTerms(COMPRESSION_MODE)

    @property
    def tls_name(self) -> str:
        """Return whom the certificate of a server must be for that only has an address.

        Source: nats-server `route.go`, `saveRouteTLSName`.
        """
        return next((url.host for url in self.mesh.routes if not url.is_address), "")


def cluster_section(modes: Collection[str]) -> ConfigSection:
    """Return the block `cluster`, which `section_as(RouteConfig)` returns; None without routes.

    Args:
        modes: Names of the modes of compression that there are.
    """
    return replace(cluster_options(modes), record=RouteConfig, make=_config_from_values)


def _config_from_values(value: Mapping[str, Any]) -> RouteConfig | None:
    if value["port"] is None:
        return None
    routes = tuple(parse_route_url(url) for url in value["routes"])
    login = read_login(value, [url.host for url in routes])
    return RouteConfig(
        name=value["name"],
        host=value["host"],
        port=value["port"],
        advertise=value["advertise"],
        login=login,
        mesh=MeshSettings(
            routes=routes,
            connect_retries=value["connect_retries"],
            has_connect_backoff=value["connect_backoff"],
            user=login.user,
            password=_own_password(login, routes),
            is_advertised=not value["no_advertise"],
            pool_size=value["pool_size"],
            is_pool_strict=value["strict_pool_size"],
        ),
        accounts=value["accounts"],
        permissions=route_permissions(value["permissions"]),
        times=LinkTimes(
            ping_interval_s=value["ping_interval"],
            ping_max=value["ping_max"],
            write_deadline_s=value["write_deadline"],
            closes_slow=value["write_timeout"] == "close",
        ),
        tls=peer_tls(value["tls"], path="cluster.tls"),
        compression=compression_terms(value["compression"], COMPRESSION_MODE),
    )


def _own_password(login: Login, routes: Sequence[PeerUrl]) -> str:
    """Return what proves at other servers who we are: a hash does not, so a route must say it."""
    if not login.is_hashed:
        return login.password
    return next((url.password for url in routes if url.user == login.user), "")
