"""Settings of the block `cluster`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from framework.peering import Login
from framework.spec import tls_settings
from framework.topology import is_tls_on, login_timeout_s
from framework_route.compression import RTT_THRESHOLDS_NS
from framework_route.compression_option import COMPRESSION_MODE, rtt_thresholds_from_texts
from framework_route.options import cluster_options
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
    compression_mode: str = COMPRESSION_MODE
    """Name of a mode that there is."""
    rtt_thresholds_ns: Sequence[int] = RTT_THRESHOLDS_NS
    """What `s2_auto` goes by."""

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
    authorization: Mapping[str, Any] = value["authorization"] or {}
    routes = tuple(parse_route_url(url) for url in value["routes"])
    tls: Mapping[str, Any] = value["tls"] if is_tls_on(value["tls"]) else {}
    checks_hosts = tls.get("verify_cert_and_check_known_urls", False)
    login = Login(
        user=authorization.get("user", ""),
        password=authorization.get("password", ""),
        timeout_s=authorization.get("timeout") or login_timeout_s(value["tls"]),
        maps_certificates=tls.get("verify_and_map", False),
        known_hosts=tuple(url.host for url in routes) if checks_hosts else None,
    )
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
        tls=route_tls(value["tls"]),
        **_compression(value["compression"]),
    )


def _own_password(login: Login, routes: Sequence[PeerUrl]) -> str:
    """Return what proves at other servers who we are: a hash does not, so a route must say it."""
    if not login.is_hashed:
        return login.password
    return next((url.password for url in routes if url.user == login.user), "")


def _compression(block: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return what the block `compression` comes to, as fields of RouteConfig."""
    if block is None:
        return {}
    thresholds_ns = rtt_thresholds_from_texts(block["rtt_thresholds"])
    return {"compression_mode": block["mode"], "rtt_thresholds_ns": thresholds_ns}


def route_tls(block: Mapping[str, object] | None) -> TlsSettings | None:
    """Return what the block `tls` of `cluster` comes to: routes speak nothing before TLS."""
    settings = tls_settings(block, path="cluster.tls", verify=True)
    return settings and replace(settings, handshake_first=True, fallback_s=0.0)
