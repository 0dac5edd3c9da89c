"""Options of the core at the top level of a configuration.

Names, defaults and meanings are nats-server's. What belongs to a plugin stands in that
plugin; `foreign.py` knows whose a key is when the plugin is absent.

Source: nats-server 2.15.2 `opts.go`, `processConfigFileLine` and `ConfigureOptions`; `const.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from framework.topology.limit_options import LIMIT_OPTIONS
from framework.topology.log_options import LOG_OPTIONS
from framework.topology.option import ConfigSection, Flag, Kind, Option, Reload
from framework.topology.tls_options import is_tls_on, tls_option
from framework.topology.units import listen_from_text

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CORE_SECTION", "HTTP_BASE_PORT"]

HTTP_BASE_PORT = 8222


def _has_space(name: object) -> str | None:
    return "server name cannot contain spaces" if " " in str(name) else None


def _check_advertised(text: object) -> str | None:
    """Accept a host with or without a port."""
    try:
        listen_from_text(str(text) if ":" in str(text) else f"{text}:0")
    except ValueError as error:
        return str(error)
    return None


def _settle(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    """Fill in what nats-server derives from other options, and compare what must fit."""
    if values["trace_verbose"] or values["trace_headers"]:
        values["trace"] = True
    http = cast("tuple[str | None, int] | None", values["http"])
    if http:
        values["http"] = (http[0] or values["host"], http[1])
    https = cast("tuple[str | None, int] | None", values["https"])
    if https:
        values["https"] = (https[0] or values["host"], https[1])
        if http:
            yield "https http", "can't specify both HTTP and HTTPS ports"
        if not is_tls_on(values["tls"]):
            yield "https", "TLS cert and key required for HTTPS: set tls"
    values["http_base_path"] = "/" + str(values["http_base_path"]).strip("/")
    if cast("int", values["max_payload"]) > cast("int", values["max_pending"]):
        yield "max_payload max_pending", "cannot be higher than max_pending"
    if cast("float", values["lame_duck_grace_period"]) >= cast(
        "float", values["lame_duck_duration"]
    ):
        yield (
            "lame_duck_grace_period lame_duck_duration",
            "should be strictly lower than lame_duck_duration",
        )


_NETWORK = (
    Option(
        name="listen",
        kind=Kind.LISTEN,
        help="Where clients connect: host:port or a port; sets host and port",
    ),
    Option(
        name="host",
        kind=Kind.STRING,
        default="0.0.0.0",  # noqa: S104 -- nats-server's default; a topology binds to 127.0.0.1
        help="Address that clients connect to",
        aliases=("net",),
        flags=("a", "addr", "net"),
    ),
    Option(
        name="port",
        kind=Kind.PORT,
        default=4222,
        help="Port that clients connect to",
        flags=("p", "port"),
    ),
    Option(
        name="server_name",
        kind=Kind.STRING,
        help="Name of the server; its ID if not set",
        flags=("n", "name", "server_name"),
        check=_has_space,
    ),
    Option(
        name="client_advertise",
        kind=Kind.STRING,
        help="host:port that clients are told to connect to",
        flags=("client_advertise",),
        check=_check_advertised,
        reload=Reload.LIVE,
    ),
    Option(
        name="server_tags",
        kind=Kind.STRINGS,
        default=(),
        help="Words that describe the server",
        reload=Reload.LIVE,
    ),
    Option(
        name="server_metadata",
        kind=Kind.MAP,
        default={},
        help="Names and texts that describe the server",
        reload=Reload.LIVE,
    ),
)

_MONITORING = (
    Option(
        name="http",
        kind=Kind.LISTEN,
        spreads=("http_host", "http_port"),
        help="Where monitoring answers: host:port or a port; the clients' host if not set",
    ),
    Option(
        name="http_port",
        kind=Kind.PORT,
        help="Port where monitoring answers; none if not set",
        aliases=("monitor_port",),
        flags=("m", "http_port"),
    ),
    Option(
        name="http_base_path",
        kind=Kind.STRING,
        default="/",
        help="Path before the name of each monitoring page",
    ),
    Option(
        name="https",
        kind=Kind.LISTEN,
        spreads=("https_host", "https_port"),
        help="Where monitoring answers over TLS, with the certificate of `tls`; in http's place",
    ),
    Option(
        name="https_port",
        kind=Kind.PORT,
        help="Port where monitoring answers over TLS",
        flags=("ms", "https_port"),
    ),
    Option(
        name="max_closed_clients",
        kind=Kind.INT,
        default=10_000,
        minimum=0,
        zero_is_default=True,
        unit="connections",
        help="Closed connections that monitoring remembers",
    ),
    Option(
        name="prof_port",
        kind=Kind.PORT,
        help="Port for Go's profiler",
        flags=("profile",),
        inert="there is no Go profile of this server",
    ),
    Option(
        name="prof_block_rate",
        kind=Kind.INT,
        default=0,
        help="Rate of Go's block profile",
        inert="there is no Go profile of this server",
    ),
)

_LOGINS = (
    Option(
        name="authenticators",
        kind=Kind.STRINGS,
        default=(),
        help="Who is asked about logins, in this order; those not named come last;"
        " not in nats-server",
    ),
)

_FILES = (
    Option(
        name="pid_file",
        kind=Kind.STRING,
        help="File to write the process ID to",
        aliases=("pidfile",),
        flags=("P", "pid"),
        reload=Reload.LIVE,
    ),
    Option(
        name="ports_file_dir",
        kind=Kind.STRING,
        help="Folder in which to write a file with the ports, named <program>_<pid>.ports",
        flags=("ports_file_dir",),
        reload=Reload.LIVE,
    ),
)

_TLS = (
    tls_option("TLS between clients and server", has_flags=True),
    Option(
        name="allow_non_tls",
        kind=Kind.BOOL,
        default=False,
        help="Let clients choose whether they use TLS",
        reload=Reload.LIVE,
    ),
)

CORE_SECTION = ConfigSection(
    name="",
    options=(*_NETWORK, *LOG_OPTIONS, *_MONITORING, *_FILES, *_LOGINS, *_TLS, *LIMIT_OPTIONS),
    flags=(
        Flag(
            names=("DV",),
            sets={"debug": True, "trace": True},
            help="-D and -V together",
        ),
        Flag(
            names=("DVV",),
            sets={"debug": True, "trace_verbose": True},
            help="-D and -VV together",
        ),
    ),
    settle=_settle,
    help="The server itself",
)
