"""Options of the block `gateway`.

Source: nats-server `opts.go`, `parseGateway`, `parseGateways`; `gateway.go`,
`validateGatewayOptions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.topology import ConfigSection, Kind, Option, Reload, tls_option

if TYPE_CHECKING:
    from collections.abc import Iterator


def _check_name(name: object) -> str | None:
    return "gateway name cannot contain spaces" if " " in str(name) else None


def _check_urls(urls: object) -> str | None:
    from framework_gateway.url import parse_gateway_url  # noqa: PLC0415 - as in `config`

    assert isinstance(urls, tuple)
    for url in urls:
        try:
            parse_gateway_url(url)
        except ValueError as error:
            return f"{error}; expected a URL such as nats://host:7222"
    return None


def _check_url(url: object) -> str | None:
    return _check_urls((url,)) if url else None


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


def _settle_authorization(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    if values["password"] and not values["user"]:
        yield "password", "needs a user"


_AUTHORIZATION = (
    Option(name="user", kind=Kind.STRING, reload=Reload.LIVE, default="",
           help="Name that servers of other clusters must give", aliases=("username",)),
    Option(name="password", kind=Kind.STRING, reload=Reload.LIVE, default="",
           help="Password that belongs to the user, or its bcrypt hash",
           aliases=("pass",), secret=True),
    Option(name="timeout", kind=Kind.DURATION, reload=Reload.LIVE, minimum=0.001,
           zero_is_default=True,
           help="How long another server may take to introduce itself; if not set, 2s, or with TLS"
                " 1s more than `tls.timeout`"),
    Option(name="permissions", kind=Kind.FREE, help="Without effect",
           inert="every subject crosses gateways", aliases=("default_permissions",)),
    Option(name="users", kind=Kind.FREE, help="One user only",
           refusal="Gateway authorization does not allow multiple users"),
    Option(name="token", kind=Kind.STRING, help="A user and a password only",
           refusal="Gateway authorization does not support tokens"),
    Option(name="auth_callout", kind=Kind.FREE, help="A user and a password only",
           aliases=("auth_hook",), refusal="Gateway authorization does not support callouts"),
)  # fmt: skip

_REMOTE = (
    Option(name="name", kind=Kind.STRING, reload=Reload.LIVE, default="",
           help="Name of another cluster; this server's own is passed over"),
    Option(name="url", kind=Kind.STRING, reload=Reload.LIVE, default="", check=_check_url,
           help="Where one of its servers accepts gateways"),
    Option(name="urls", kind=Kind.URLS, reload=Reload.LIVE, default=(), check=_check_urls,
           help="Where its servers accept gateways; they tell of the others"),
    Option(name="tls", kind=Kind.FREE, help="TLS to this cluster alone",
           refusal="TLS is the same for all gateways: `gateway.tls`"),
)  # fmt: skip

_OPTIONS = (
    Option(name="name", kind=Kind.STRING, default="", check=_check_name,
           help="Name of this server's cluster; the same as `cluster.name`"),
    Option(name="listen", kind=Kind.LISTEN,
           help="Where servers of other clusters connect: host:port or a port; sets host and port"),
    Option(name="host", kind=Kind.STRING, default="0.0.0.0", aliases=("net",),  # noqa: S104
           help="Address that servers of other clusters connect to"),
    Option(name="port", kind=Kind.PORT,
           help="Port that servers of other clusters connect to; without it there are no gateways"),
    Option(name="authorization", kind=Kind.BLOCK, reload=Reload.LIVE, options=_AUTHORIZATION,
           settle=_settle_authorization, help="What servers of other clusters must prove"),
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
    Option(name="write_deadline", kind=Kind.DURATION, default=None, minimum=0.001,
           reload=Reload.LIVE,
           help="How long a gateway may take nothing of what waits; as clients, if not set"),
    Option(name="write_timeout", kind=Kind.STRING, default="default",
           choices=("default", "close", "retry"), reload=Reload.LIVE,
           help="Whether a gateway that is too slow is closed, or tried again as by default"),
    tls_option("TLS between clusters; each server shows its certificate to the other"),
)  # fmt: skip

GATEWAY_OPTIONS = ConfigSection(
    name="gateway",
    plugin="gateway",
    help="Gateways to other clusters",
    options=_OPTIONS,
    settle=_settle,
    reload=Reload.RESTART,
)
