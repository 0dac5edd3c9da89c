"""The `cluster` block: what users may write, and what it comes to.

Source: nats-server `opts.go`, `parseCluster`, `overrideCluster`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from framework.spec import tls_settings
from framework.topology import ConfigSection, Kind, Node, Option, Reload, tls_option
from framework.topology.units import join_address, seconds_from_text, split_listen_url
from framework_route.compression import RTT_THRESHOLDS_NS
from framework_route.limits import RTT_THRESHOLDS_MAX
from framework_route.machine import Login
from framework_route.mesh import MeshSettings
from framework_route.url import parse_route_url

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from framework.spec import TlsSettings

_AUTH_TIMEOUT_S = 2.0
_COMPRESSION_ALIASES = {
    "on": "s2_fast", "enabled": "s2_fast", "true": "s2_fast",
    "disabled": "off", "false": "off",
    "auto": "s2_auto", "fast": "s2_fast", "better": "s2_better", "best": "s2_best",
}  # fmt: skip
"""Source: nats-server `server.go`, `validateAndNormalizeCompressionOption`."""
_COMPRESSION_DEFAULT = "accept"
_PLAIN_MODES = frozenset({"off", "accept"})
"""Modes under which nothing is compressed unless the peer wants it."""


def _cluster_from_flag(text: str) -> Mapping[str, object]:
    """Read `-cluster nats://user:password@host:port`; without a login, a file's counts no more."""
    host, port, user, password = split_listen_url(text)
    login = {"user": user, "password": password}
    return {"listen": join_address(host, port), "authorization": login}


def _check_name(name: object) -> str | None:
    return "cluster name cannot contain spaces" if " " in str(name) else None


def _check_routes(urls: object) -> str | None:
    assert isinstance(urls, tuple)
    for url in urls:
        try:
            parse_route_url(url)
        except ValueError as error:
            return f"{error}; expected a URL such as nats-route://host:6222"
    return None


def _settle(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    if values["routes"] and values["port"] is None:
        yield "routes", "solicited routes require cluster capabilities: set `port` or `listen`"
    pool_size = values["pool_size"]
    if values["accounts"] and isinstance(pool_size, int) and pool_size < 0:
        yield "pool_size", "pool_size cannot be negative if pinned accounts are specified"


def _settle_authorization(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    if values["password"] and not values["user"]:
        yield "password", "needs a user"
    if str(values["password"] or "").startswith(("$2a$", "$2b$", "$2y$")):
        yield "password", "bcrypted passwords of routes are not available yet"


def _block_from_mode(node: Node) -> Node:
    """Take `compression: s2_fast`, or `on`, for a block with that mode."""
    match node.value:
        case bool() | str() as mode:
            return node.with_value({"mode": Node(str(mode), node.place, node.key_place)})
        case _:
            return node


def _settle_compression(
    modes: Collection[str], values: dict[str, object]
) -> Iterator[tuple[str, str]]:
    """Check the mode and what it goes by, and put its proper name in place of another one."""
    written = str(values["mode"])
    values["mode"] = mode = _COMPRESSION_ALIASES.get(written.lower(), written.lower())
    if mode not in modes:
        yield "mode", f'unsupported compression mode "{written}"; there are {", ".join(modes)}'
    texts = values["rtt_thresholds"]
    assert isinstance(texts, tuple)
    try:
        values["rtt_thresholds"] = _rtt_thresholds(texts)
    except ValueError as error:
        yield "rtt_thresholds", str(error)


def _rtt_thresholds(texts: Sequence[str]) -> tuple[int, ...]:
    """Return thresholds in nanoseconds, the default ones where none are written.

    Raises:
        ValueError: They are not what nats-server takes.
    """
    found = [max(0, round(seconds_from_text(text) * 1e9)) for text in texts]
    used = [threshold for threshold in found if threshold]
    while found and not found[-1]:
        found.pop()
    if used != sorted(used):
        raise ValueError("RTT thresholds should be in ascending order")
    if len(found) > RTT_THRESHOLDS_MAX:
        raise ValueError(f"expected no more than {RTT_THRESHOLDS_MAX} RTT thresholds")
    if texts and not found:
        raise ValueError("expected at least one RTT threshold that is not 0")
    return tuple(found) or RTT_THRESHOLDS_NS


_AUTHORIZATION = (
    Option(name="user", kind=Kind.STRING, default="", help="Name that other servers must give",
           aliases=("username",)),
    Option(name="password", kind=Kind.STRING, default="", help="Password that belongs to the user",
           aliases=("pass",), secret=True),
    Option(name="timeout", kind=Kind.DURATION, default=_AUTH_TIMEOUT_S, minimum=0.001,
           help="How long another server may take to become a route"),
    Option(name="permissions", kind=Kind.FREE,
           help="Without effect, as in nats-server", aliases=("default_permissions",)),
    Option(name="users", kind=Kind.FREE, help="One user only",
           refusal="Cluster authorization does not allow multiple users"),
    Option(name="token", kind=Kind.STRING, help="A user and a password only",
           refusal="Cluster authorization does not support tokens"),
    Option(name="auth_callout", kind=Kind.FREE, help="A user and a password only",
           aliases=("auth_hook",), refusal="Cluster authorization does not support callouts"),
)  # fmt: skip


def _compression_option(modes: Collection[str]) -> Option:
    return Option(
        name="compression", kind=Kind.BLOCK, normalize=_block_from_mode,
        settle=partial(_settle_compression, modes),
        help="Accepted; nothing is compressed",
        options=(
            Option(name="mode", kind=Kind.STRING, default=_COMPRESSION_DEFAULT,
                   help="How much to compress; the mode alone may stand in place of the block"),
            Option(name="rtt_thresholds", kind=Kind.STRINGS, default=(),
                   aliases=("thresholds", "rtts", "rtt"),
                   help="Round trips up to which `s2_auto` takes each level; 0 leaves one out"),
        ),
    )  # fmt: skip


_OPTIONS = (
    Option(name="name", kind=Kind.STRING, default="", flags=("cluster_name",), check=_check_name,
           help="Name of the cluster; made up, and given up for another one, if not set"),
    Option(name="listen", kind=Kind.LISTEN, flags=("cluster", "cluster_listen"),
           flag_reader=_cluster_from_flag,
           help="Where other servers connect: host:port or a port; sets host and port"),
    Option(name="host", kind=Kind.STRING, default="0.0.0.0", aliases=("net",),  # noqa: S104
           help="Address that other servers connect to"),
    Option(name="port", kind=Kind.PORT,
           help="Port that other servers connect to; without one there are no routes"),
    Option(name="routes", kind=Kind.URLS, default=(), flags=("routes",), check=_check_routes,
           help="Servers of the cluster to connect to; they tell of the others"),
    Option(name="authorization", kind=Kind.BLOCK, options=_AUTHORIZATION,
           settle=_settle_authorization, help="What other servers must prove"),
    Option(name="advertise", kind=Kind.STRING, default="", aliases=("cluster_advertise",),
           flags=("cluster_advertise",),
           help="host:port that other servers are told to connect to"),
    Option(name="no_advertise", kind=Kind.BOOL, default=False, flags=("no_advertise",),
           help="Tell clients nothing of the servers of the cluster"),
    Option(name="connect_retries", kind=Kind.INT, default=0, minimum=0, unit="attempts",
           flags=("connect_retries",),
           help="Further attempts to connect to a server known by others"),
    Option(name="connect_backoff", kind=Kind.BOOL, default=False,
           help="Double the time between attempts to connect, up to 30s"),
    Option(name="ping_interval", kind=Kind.DURATION, default=None, minimum=0.001,
           help="Accepted; routes are pinged as clients are"),
    Option(name="ping_max", kind=Kind.INT, default=None, minimum=1,
           help="Accepted; routes are pinged as clients are"),
    Option(name="write_deadline", kind=Kind.DURATION, default=None, minimum=0.001,
           help="Accepted; routes have the deadline of clients"),
    Option(name="write_timeout", kind=Kind.STRING, default="default",
           choices=("default", "close", "retry"),
           help="Accepted; routes are closed when they are too slow"),
    Option(name="pool_size", kind=Kind.INT, default=None,
           help="Accepted; there is one connection between two servers"),
    Option(name="accounts", kind=Kind.STRINGS, default=(),
           help="Accepted; no account has a connection of its own"),
    Option(name="permissions", kind=Kind.FREE, help="Which subjects cross routes",
           refusal="it would not be in force yet"),
    tls_option("TLS between the servers; each shows its certificate to the other"),
)  # fmt: skip


def cluster_section(modes: Collection[str]) -> ConfigSection:
    """Return the block `cluster`.

    Args:
        modes: Names of the modes of compression that there are.
    """
    return ConfigSection(
        name="cluster",
        plugin="route",
        help="Routes to the other servers of the cluster",
        options=(*_OPTIONS, _compression_option(modes)),
        settle=_settle,
        reload=Reload.RESTART,
    )


@dataclass(frozen=True, slots=True)
class RouteConfig:
    """The `cluster` block of a server that takes part in one."""

    name: str
    """Empty: to be made up."""
    host: str
    port: int
    """0: any free one."""
    advertise: str
    """`host` or `host:port`; empty: peers find out by themselves."""
    login: Login
    mesh: MeshSettings
    not_in_force: Sequence[str]
    """Options that are set and change nothing in this version."""
    tls: TlsSettings | None = None
    """None: routes are plain."""
    compression_mode: str = _COMPRESSION_DEFAULT
    """Name of a mode that there is."""
    rtt_thresholds_ns: Sequence[int] = RTT_THRESHOLDS_NS
    """What `s2_auto` goes by."""

    @property
    def tls_name(self) -> str:
        """Return whom the certificate of a server must be for that only has an address.

        Source: nats-server `route.go`, `saveRouteTLSName`.
        """
        return next((url.host for url in self.mesh.routes if not url.is_address), "")


def route_config(section: Mapping[str, object] | None) -> RouteConfig | None:
    """Return the configuration of the routes; None when the server is in no cluster."""
    if section is None or section["port"] is None:
        return None
    value: dict[str, Any] = dict(section)
    authorization: Mapping[str, Any] = value["authorization"] or {}
    login = Login(
        user=authorization.get("user", ""),
        password=authorization.get("password", ""),
        timeout_s=authorization.get("timeout", _AUTH_TIMEOUT_S),
    )
    return RouteConfig(
        name=value["name"],
        host=value["host"],
        port=value["port"],
        advertise=value["advertise"],
        login=login,
        mesh=MeshSettings(
            routes=tuple(parse_route_url(url) for url in value["routes"]),
            connect_retries=value["connect_retries"],
            has_connect_backoff=value["connect_backoff"],
            user=login.user,
            password=login.password,
            is_advertised=not value["no_advertise"],
        ),
        not_in_force=tuple(_not_in_force(value)),
        tls=route_tls(value["tls"]),
        **_compression(value["compression"]),
    )


def _compression(block: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return what the block `compression` comes to, as fields of RouteConfig."""
    if block is None:
        return {}
    return {"compression_mode": block["mode"], "rtt_thresholds_ns": block["rtt_thresholds"]}


def route_tls(block: Mapping[str, object] | None) -> TlsSettings | None:
    """Return what the block `tls` of `cluster` comes to: routes speak nothing before TLS."""
    settings = tls_settings(block, verify=True)
    return settings and replace(settings, handshake_first=True, fallback_s=0.0)


def _not_in_force(value: Mapping[str, Any]) -> Iterator[str]:
    if (value["pool_size"] or 0) > 1:
        yield "pool_size"
    if value["accounts"]:
        yield "accounts"
    if value["compression"] and value["compression"]["mode"] not in _PLAIN_MODES:
        yield "compression"
    for name in ("ping_interval", "ping_max", "write_deadline"):
        if value[name] is not None:
            yield name
    if value["write_timeout"] == "retry":
        yield "write_timeout"
