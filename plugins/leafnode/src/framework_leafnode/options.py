"""Options of the block `leafnodes`.

Source: nats-server `opts.go`, `parseLeafNodes`, `parseLeafAuthorization`, `parseRemoteLeafNodes`;
`leafnode.go`, `validateLeafNode`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from framework.peering import compression_option, slow_options, url_check
from framework.topology import ConfigSection, Kind, Option, Reload, tls_option
from framework_leafnode.limits import COMPRESSION_MODE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping


def _parse_url(text: str) -> object:
    from framework_leafnode.url import parse_hub_url  # noqa: PLC0415 - as in `config`

    return parse_hub_url(text)


_check_urls = url_check(_parse_url, "nats-leaf://host:7422")


def _parse_proxy(text: str) -> object:
    from framework_leafnode.url import parse_proxy_url  # noqa: PLC0415 - as in `config`

    return parse_proxy_url(text)


_check_proxy = url_check(_parse_proxy, "http://proxy.example.com:8080")


def _check_version(text: object) -> str | None:
    from framework_leafnode.versions import version_from  # noqa: PLC0415 - as in `config`

    if not text:
        return None
    try:
        version = version_from(str(text))
    except ValueError as error:
        return str(error)
    return "the minimum version should be at least 2.8.0" if version < (2, 8, 0) else None


def _check_nkey(text: object) -> str | None:
    from framework.wire.nkey import NkeyKind, is_public_key  # noqa: PLC0415 - as in `config`

    if text and not is_public_key(str(text), NkeyKind.USER):
        return "Not a valid public nkey for leafnode authorization"
    return None


def _check_seed(text: object) -> str | None:
    from framework_leafnode.credentials import is_user_seed  # noqa: PLC0415 - as in `config`

    return (
        "Remote leafnode nkey is not a valid seed" if text and not is_user_seed(str(text)) else None
    )


def _check_subjects(subjects: object) -> str | None:
    from framework.wire.subject import is_valid_subject  # noqa: PLC0415 - as in `config`

    assert isinstance(subjects, tuple)
    bad = next((it for it in subjects if not is_valid_subject(it)), None)
    return f'subject "{bad}" is not a valid subject' if bad is not None else None


def _settle_authorization(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    users = values["users"]
    assert isinstance(users, tuple)
    if users and values["user"]:
        yield "users", "can not have a single user/pass and a users array"
    elif users and values["nkey"]:
        yield "users", "can not have a single nkey and a users array"
    elif values["password"] and not values["user"]:
        yield "password", "needs a user"
    names = [user["user"] for user in users]
    double = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if double is not None:
        yield "users", f'duplicate user "{double}" detected in leafnode authorization'


def _tuple(value: object) -> tuple[object, ...]:
    assert isinstance(value, tuple)
    return value


def _settle_remote(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    if not values["urls"] and not values["url"]:
        yield "urls", "a remote has no URL"
    urls = [str(it).lower() for it in (*_tuple(values["urls"]), values["url"]) if it]
    if len({it.startswith(("ws://", "wss://")) for it in urls}) > 1:
        yield "urls", "can not have a mix of websocket and non-websocket urls"
    if values["nkey"] and values["credentials"]:
        yield "nkey", "Remote leafnode can not have both creds and nkey defined"


def _settle_proxy(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    if not values["url"] and any(values.values()):
        yield "url", "proxy URL must be specified when other proxy options are set"
    if bool(values["username"]) != bool(values["password"]):
        yield (
            "username password",
            "proxy username and password must both be specified or both be empty",
        )


def _settle(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    remotes = values["remotes"]
    assert isinstance(remotes, tuple)
    seen: list[object] = []
    for remote in remotes:
        key = _key(remote)
        if key in seen:
            yield "remotes", f"duplicate remote for account {remote['account'] or '$G'}"
        seen.append(key)


def _key(remote: Mapping[str, object]) -> tuple[object, ...]:
    return remote["url"], remote["urls"], remote["account"], remote["credentials"]


_USER = (
    Option(name="user", kind=Kind.STRING, reload=Reload.LIVE, default="", aliases=("username",),
           help="Name that the leaf node must give"),
    Option(name="password", kind=Kind.STRING, reload=Reload.LIVE, default="", aliases=("pass",),
           secret=True, help="Password that belongs to the user, or its bcrypt hash"),
    Option(name="account", kind=Kind.STRING, reload=Reload.LIVE, default="",
           help="Account that the leaf node joins; if not set, `$G`"),
    Option(name="proxy_required", kind=Kind.BOOL, help="Only by a trusted proxy",
           refusal="trusted proxies are not there yet", is_off=lambda node: node.value is False),
)  # fmt: skip

_AUTHORIZATION = (
    *_USER[:3],
    Option(name="nkey", kind=Kind.STRING, reload=Reload.LIVE, default="", check=_check_nkey,
           help="Public key that must have signed the nonce of INFO"),
    Option(name="timeout", kind=Kind.DURATION, reload=Reload.LIVE, minimum=0.001,
           zero_is_default=True,
           help="How long a leaf node may take to log in; if not set, 2s, or with TLS 1s more than"
                " `tls.timeout`"),
    Option(name="users", kind=Kind.BLOCKS, reload=Reload.LIVE, default=(), options=_USER,
           help="Several users, each with the account that its leaf node joins"),
    _USER[3],
)  # fmt: skip

_PROXY = (
    Option(name="url", kind=Kind.STRING, reload=Reload.LIVE, default="", check=_check_proxy,
           help="Where the proxy is: `http://host:port`"),
    Option(name="username", kind=Kind.STRING, reload=Reload.LIVE, default="",
           help="Name that the proxy must be given"),
    Option(name="password", kind=Kind.STRING, reload=Reload.LIVE, default="", secret=True,
           help="Password that belongs to the name"),
    Option(name="timeout", kind=Kind.DURATION, reload=Reload.LIVE, default=None, minimum=0.001,
           zero_is_default=True,
           help="How long the proxy may take to connect and to answer; if not set, `dial_timeout`"),
    Option(name="tls", kind=Kind.FREE, help="TLS with the proxy",
           refusal="TLS with a proxy is not there yet"),
)  # fmt: skip

_REMOTE = (
    Option(name="url", kind=Kind.STRING, reload=Reload.LIVE, default="", check=_check_urls,
           help="Where a server of the hub accepts leaf nodes"),
    Option(name="urls", kind=Kind.URLS, reload=Reload.LIVE, default=(), check=_check_urls,
           help="Where servers of the hub accept leaf nodes; they tell of the others"),
    Option(name="account", kind=Kind.STRING, reload=Reload.LIVE, default="", aliases=("local",),
           help="Account here that joins the one of the hub; if not set, `$G`"),
    Option(name="credentials", kind=Kind.STRING, reload=Reload.LIVE, default="", aliases=("creds",),
           help="File with the JWT and the seed of a user of the hub"),
    Option(name="nkey", kind=Kind.STRING, reload=Reload.LIVE, default="", aliases=("seed",),
           secret=True, check=_check_seed, help="Seed of a user of the hub"),
    Option(name="hub", kind=Kind.BOOL, reload=Reload.LIVE, default=False,
           help="This server is the hub although it connects"),
    Option(name="deny_imports", kind=Kind.STRINGS, reload=Reload.LIVE, default=(),
           aliases=("deny_import",), check=_check_subjects,
           help="Subjects of which nothing comes from the hub"),
    Option(name="deny_exports", kind=Kind.STRINGS, reload=Reload.LIVE, default=(),
           aliases=("deny_export",), check=_check_subjects,
           help="Subjects of which nothing goes to the hub"),
    Option(name="no_randomize", kind=Kind.BOOL, reload=Reload.LIVE, default=False,
           aliases=("dont_randomize",), help="Try the URLs in their order"),
    Option(name="ignore_discovered_servers", kind=Kind.BOOL, reload=Reload.LIVE, default=False,
           help="Connect to no server that the hub tells of"),
    Option(name="isolate_leafnode_interest", kind=Kind.BOOL, reload=Reload.LIVE, default=False,
           aliases=("isolate",), help="Tell this hub nothing of the interest of other leaf nodes"),
    Option(name="request_isolation", kind=Kind.BOOL, reload=Reload.LIVE, default=False,
           help="Ask this hub to tell nothing of the interest of other leaf nodes"),
    Option(name="disabled", kind=Kind.BOOL, reload=Reload.LIVE, default=False,
           help="Do not connect, or not any more"),
    Option(name="first_info_timeout", kind=Kind.DURATION, reload=Reload.LIVE, default=None,
           minimum=0.001, help="How long the hub may take to introduce itself; if not set, 1s"),
    Option(name="dial_timeout", kind=Kind.DURATION, reload=Reload.LIVE, default=None,
           minimum=0.001, help="How long connecting may take; if not set, that of all remotes"),
    Option(name="jetstream_cluster_migrate", kind=Kind.FREE, aliases=("js_cluster_migrate",),
           help="Without effect",
           inert="leaders of streams stay where they are when the hub is lost"),
    tls_option("TLS to this hub; without it where the hub requires it", is_of_dials=True),
    Option(name="proxy", kind=Kind.BLOCK, reload=Reload.LIVE, options=_PROXY, settle=_settle_proxy,
           help="HTTP proxy by which the hub is reached, whatever its URLs"),
    Option(name="ws_compression", kind=Kind.BOOL, reload=Reload.LIVE, default=False,
           aliases=("ws_compress", "websocket_compress", "websocket_compression"),
           help="Compress frames of WebSocket, if the hub does; `compression` does nothing there"),
    Option(name="ws_no_masking", kind=Kind.BOOL, reload=Reload.LIVE, default=False,
           aliases=("websocket_no_masking",),
           help="Do not mask frames of WebSocket, if the hub lets it"),
)  # fmt: skip

_OPTIONS = (
    Option(name="listen", kind=Kind.LISTEN,
           help="Where leaf nodes connect: host:port or a port; sets host and port"),
    Option(name="host", kind=Kind.STRING, default="0.0.0.0", aliases=("net",),  # noqa: S104
           help="Address that leaf nodes connect to"),
    Option(name="port", kind=Kind.PORT,
           help="Port that leaf nodes connect to; without it there are only hubs"),
    Option(name="authorization", kind=Kind.BLOCK, reload=Reload.LIVE, options=_AUTHORIZATION,
           settle=_settle_authorization,
           help="What leaf nodes must prove; without it they log in as clients do"),
    Option(name="remotes", kind=Kind.BLOCKS, reload=Reload.LIVE, default=(), options=_REMOTE,
           settle=_settle_remote, help="Hubs to connect to, each with the account that joins"),
    Option(name="reconnect", kind=Kind.DURATION, reload=Reload.LIVE, default=1.0, minimum=0.001,
           aliases=("reconnect_delay", "reconnect_interval"),
           help="Time before a hub is connected to again"),
    Option(name="dial_timeout", kind=Kind.DURATION, reload=Reload.LIVE, default=None,
           minimum=0.001, help="How long connecting may take; if not set, 1s"),
    Option(name="advertise", kind=Kind.STRING, default="", aliases=("leafnode_advertise",),
           help="host:port that leaf nodes are told to connect to"),
    Option(name="no_advertise", kind=Kind.BOOL, default=False,
           help="Do not tell leaf nodes where this server is"),
    Option(name="min_version", kind=Kind.STRING, reload=Reload.LIVE, default="",
           aliases=("minimum_version",), check=_check_version,
           help="Leaf nodes with an older server may not connect"),
    Option(name="isolate_leafnode_interest", kind=Kind.BOOL, reload=Reload.LIVE, default=False,
           aliases=("isolate",), help="Tell leaf nodes nothing of each other's interest"),
    *slow_options("leaf node"),
    tls_option("TLS of the leaf node port"),
)  # fmt: skip


def leafnode_options(modes: Collection[str]) -> ConfigSection:
    """Return the options of the block `leafnodes`.

    Args:
        modes: Names of the modes of compression that there are.
    """
    return ConfigSection(
        name="leafnodes",
        aliases=("leaf",),
        plugin="leafnode",
        help="Leaf nodes of this server, and hubs whose leaf node it is",
        options=(
            *(_with_compression(it, modes) for it in _OPTIONS),
            _compression(modes, "leaf nodes that connect to this server"),
        ),
        settle=_settle,
        reload=Reload.RESTART,
    )


def _compression(modes: Collection[str], what: str) -> Option:
    return compression_option(modes, default=COMPRESSION_MODE, on=COMPRESSION_MODE, what=what)


def _with_compression(option: Option, modes: Collection[str]) -> Option:
    if option.name != "remotes":
        return option
    own = _compression(modes, "connections to this hub")
    return replace(option, options=(*option.options, own))
