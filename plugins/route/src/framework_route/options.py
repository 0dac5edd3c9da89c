"""Options of the block `cluster`.

Source: nats-server `opts.go`, `parseCluster`, `overrideCluster`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.peering import (
    compression_option,
    login_option,
    no_spaces,
    slow_options,
    url_check,
)
from framework.topology import (
    ConfigSection,
    Kind,
    Option,
    Reload,
    subject_rules_option,
    tls_option,
)
from framework.topology.place import COMMAND_LINE
from framework.topology.units import join_address, split_listen_url
from framework_route.limits import POOL_SIZE_MAX
from framework_route.url import parse_route_url

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from framework.topology import Node

POOL_SIZE = 3
COMPRESSION_MODE = "accept"
"""Where none is configured: as the other server wants it."""


def _cluster_from_flag(text: str) -> Mapping[str, object]:
    """Read `-cluster nats://user:password@host:port`; without a login, a file's counts no more."""
    host, port, user, password = split_listen_url(text)
    login = {"user": user, "password": password}
    return {"listen": join_address(host, port), "authorization": login}


def _refuse(block: Node) -> str | None:
    """Refuse `-routes` on a server that nobody gave a place to listen for routes.

    Source: nats-server `opts.go`, end of `ConfigureOptions`; the words are its own.
    """
    table = block.value if isinstance(block.value, dict) else {}
    is_asked = "routes" in table and table["routes"].place.file == COMMAND_LINE
    is_lonely = is_asked and table.keys().isdisjoint({"listen", "host", "port"})
    return "solicited routes require cluster capabilities, e.g. --cluster" if is_lonely else None


def _settle(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    if values["routes"] and values["port"] is None:
        yield "routes", "solicited routes require cluster capabilities: set `port` or `listen`"
    pool_size = values["pool_size"]
    if values["accounts"] and isinstance(pool_size, int) and pool_size < 0:
        yield "pool_size", "pool_size cannot be negative if pinned accounts are specified"


_PERMISSIONS = (
    subject_rules_option(
        "import", ("publish", "pub"), "Subjects that this server wants from others"),
    subject_rules_option(
        "export", ("subscribe", "sub"), "Subjects that this server lets others have"),
    Option(name="allow_responses", kind=Kind.FREE, aliases=("publish_allow_responses",),
           help="Routes have no answers to allow",
           refusal="Cluster permissions do not support dynamic responses"),
)  # fmt: skip

_OPTIONS = (
    Option(name="name", kind=Kind.STRING, default="", flags=("cluster_name",),
           check=no_spaces("cluster"),
           help="Name of the cluster; made up, and given up for another one, if not set"),
    Option(name="listen", kind=Kind.LISTEN, flags=("cluster", "cluster_listen"),
           flag_reader=_cluster_from_flag,
           help="Where other servers connect: host:port or a port; sets host and port"),
    Option(name="host", kind=Kind.STRING, default="0.0.0.0", aliases=("net",),  # noqa: S104
           help="Address that other servers connect to"),
    Option(name="port", kind=Kind.PORT,
           help="Port that other servers connect to; without one there are no routes"),
    Option(name="routes", kind=Kind.URLS, reload=Reload.LIVE, default=(), flags=("routes",),
           check=url_check(parse_route_url, "nats-route://host:6222"),
           help="Servers of the cluster to connect to; they tell of the others"),
    login_option(
        title="Cluster", servers="other servers", until="to become a route",
        permissions="which subjects cross routes is said by `cluster.permissions`"),
    Option(name="advertise", kind=Kind.STRING, reload=Reload.LIVE, default="",
           aliases=("cluster_advertise",),
           flags=("cluster_advertise",),
           help="host:port that other servers are told to connect to"),
    Option(name="no_advertise", kind=Kind.BOOL, reload=Reload.LIVE, default=False,
           flags=("no_advertise",),
           help="Tell clients nothing of the servers of the cluster"),
    Option(name="connect_retries", kind=Kind.INT, reload=Reload.LIVE, default=0, minimum=0,
           unit="attempts",
           flags=("connect_retries",),
           help="Further attempts to connect to a server known by others"),
    Option(name="connect_backoff", kind=Kind.BOOL, reload=Reload.LIVE, default=False,
           help="Double the time between attempts to connect, up to 30s"),
    Option(name="ping_interval", kind=Kind.DURATION, default=None, minimum=0.001,
           reload=Reload.LIVE,
           help="How often routes are pinged, at least every 30s; as clients, if not set"),
    Option(name="ping_max", kind=Kind.INT, default=None, minimum=1, reload=Reload.LIVE,
           help="Unanswered PINGs after which a route is given up; as for clients, if not set"),
    *slow_options("route"),
    Option(name="pool_size", kind=Kind.INT, default=POOL_SIZE, zero_is_default=True,
           minimum=-1, maximum=POOL_SIZE_MAX, unit="connections", reload=Reload.LIVE,
           help="Connections to each server, which share the accounts; -1: one, without a pool"),
    Option(name="strict_pool_size", kind=Kind.BOOL, default=False, reload=Reload.LIVE,
           help="Refuse a server with another pool size; else the larger one counts"),
    Option(name="accounts", kind=Kind.STRINGS, default=(), reload=Reload.LIVE,
           help="Accounts with a connection of their own to each server"),
    Option(name="permissions", kind=Kind.BLOCK, reload=Reload.LIVE, options=_PERMISSIONS,
           help="Which subjects cross routes; all, if not set"),
    tls_option(
        "TLS between the servers; each shows its certificate to the other",
        checks_known_urls=True),
)  # fmt: skip


def cluster_options(modes: Collection[str]) -> ConfigSection:
    """Return the options of the block `cluster`.

    Args:
        modes: Names of the modes of compression that there are.
    """
    return ConfigSection(
        name="cluster",
        plugin="route",
        help="Routes to the other servers of the cluster",
        options=(
            *_OPTIONS,
            compression_option(modes, default=COMPRESSION_MODE, what="routes"),
        ),
        settle=_settle,
        refuse=_refuse,
        reload=Reload.RESTART,
    )
