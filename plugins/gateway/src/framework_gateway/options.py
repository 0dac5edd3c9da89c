"""Options of the block `gateway`.

Source: nats-server `opts.go`, `parseGateway`, `parseGateways`; `gateway.go`,
`validateGatewayOptions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from framework.peering import (
    compression_option,
    login_option,
    no_spaces,
    slow_options,
    url_check,
)
from framework.topology import ConfigSection, Kind, Option, Reload, tls_option

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from framework.peering import PeerUrl


COMPRESSION_MODE: Final = "off"
"""Where none is configured: nats-server has none between clusters."""


def _parse_url(text: str) -> PeerUrl:
    from framework_gateway.url import parse_gateway_url  # noqa: PLC0415 - as in `config`

    return parse_gateway_url(text)


_check_urls = url_check(_parse_url, "nats://host:7222")


def _settle(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    name, port = values["name"], values["port"]
    if not name and port is not None:
        yield "name", "gateway has no name"
    if name and port is None:
        yield "port", f'gateway "{name}" has no port specified (select -1 for random port)'


def _settle_remote(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    if not values["name"]:
        yield "name", "gateway in the list has no name"
    elif not values["urls"] and not values["url"]:
        yield "urls", f'gateway "{values["name"]}" has no URL'


_REMOTE = (
    Option(name="name", kind=Kind.STRING, reload=Reload.LIVE, default="",
           help="Name of another cluster; this server's own is passed over"),
    Option(name="url", kind=Kind.STRING, reload=Reload.LIVE, default="", check=_check_urls,
           help="Where one of its servers accepts gateways"),
    Option(name="urls", kind=Kind.URLS, reload=Reload.LIVE, default=(), check=_check_urls,
           help="Where its servers accept gateways; they tell of the others"),
    tls_option("TLS of connections to this cluster; as `gateway.tls`, if not set"),
)  # fmt: skip

_OPTIONS = (
    Option(name="name", kind=Kind.STRING, default="", check=no_spaces("gateway"),
           help="Name of this server's cluster; the same as `cluster.name`"),
    Option(name="listen", kind=Kind.LISTEN,
           help="Where servers of other clusters connect: host:port or a port; sets host and port"),
    Option(name="host", kind=Kind.STRING, default="0.0.0.0", aliases=("net",),  # noqa: S104
           help="Address that servers of other clusters connect to"),
    Option(name="port", kind=Kind.PORT,
           help="Port that servers of other clusters connect to; without it there are no gateways"),
    login_option(
        title="Gateway", servers="servers of other clusters", until="to introduce itself",
        permissions="every subject crosses gateways"),
    Option(name="advertise", kind=Kind.STRING, default="",
           help="host:port that other clusters are told to connect to"),
    Option(name="connect_retries", kind=Kind.INT, reload=Reload.LIVE, default=0, minimum=0,
           unit="attempts",
           help="Further attempts to connect to a cluster known by others"),
    Option(name="connect_backoff", kind=Kind.BOOL, reload=Reload.LIVE, default=False,
           help="Double the time between attempts to connect, up to 30s"),
    Option(name="gateways", kind=Kind.BLOCKS, reload=Reload.LIVE, default=(), options=_REMOTE,
           settle=_settle_remote,
           help="Clusters to connect to; they tell of others"),
    Option(name="reject_unknown", kind=Kind.BOOL, reload=Reload.LIVE, default=False,
           aliases=("reject_unknown_cluster",),
           help="Let only clusters connect that are in `gateways`"),
    *slow_options("gateway"),
    tls_option(
        "TLS between clusters; each server shows its certificate to the other",
        checks_known_urls=True),
)  # fmt: skip


def gateway_options(modes: Collection[str]) -> ConfigSection:
    """Return the options of the block `gateway`.

    Args:
        modes: Names of the modes of compression that there are.
    """
    compression = compression_option(
        modes, default=COMPRESSION_MODE, on="s2_auto", what="gateways between servers of this kind"
    )
    return ConfigSection(
        name="gateway",
        plugin="gateway",
        help="Gateways to other clusters",
        options=(*_OPTIONS, replace(compression, reload=Reload.RESTART)),
        settle=_settle,
        reload=Reload.RESTART,
    )
