"""The options of the core: the top level of a server's configuration.

Names, defaults and meanings are nats-server's. What belongs to a plugin stands in that
plugin; `foreign.py` knows whose a key is when the plugin is absent.

Source: nats-server 2.15.2 `opts.go`, `processConfigFileLine` and `ConfigureOptions`; `const.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from framework.topology.option import ConfigSection, Flag, Kind, Option, Reload
from framework.topology.units import listen_from_text

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CORE_SECTION", "HTTP_BASE_PORT"]

_INT32_MAX = 2**31 - 1
_SUBJECT_TOKENS_MAX = 255
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

_LOGS = (
    Option(
        name="debug",
        kind=Kind.BOOL,
        default=False,
        help="Log what helps to find faults",
        flags=("D", "debug"),
        reload=Reload.LIVE,
    ),
    Option(
        name="trace",
        kind=Kind.BOOL,
        default=False,
        help="Log every protocol line",
        flags=("V", "trace"),
        reload=Reload.LIVE,
    ),
    Option(
        name="trace_verbose",
        kind=Kind.BOOL,
        default=False,
        help="Log every protocol line, those of the system account too; implies trace",
        flags=("VV",),
        reload=Reload.LIVE,
    ),
    Option(
        name="trace_headers",
        kind=Kind.BOOL,
        default=False,
        help="Log headers with traced messages, without their payload; implies trace",
        reload=Reload.LIVE,
    ),
    Option(
        name="max_traced_msg_len",
        kind=Kind.INT,
        default=0,
        minimum=0,
        unit="bytes",
        help="Longest part of a payload that a trace shows; 0: all of it",
        flags=("max_traced_msg_len",),
        reload=Reload.LIVE,
    ),
    Option(
        name="logtime",
        kind=Kind.BOOL,
        default=True,
        help="Begin every log line with the time",
        flags=("T", "logtime"),
        reload=Reload.LIVE,
    ),
    Option(
        name="logtime_utc",
        kind=Kind.BOOL,
        default=False,
        help="Log the time in UTC rather than local time",
        flags=("logtime_utc",),
        reload=Reload.LIVE,
    ),
    Option(
        name="log_format",
        kind=Kind.STRING,
        default="text",
        choices=("text", "json"),
        help="Lines as nats-server writes them, or one JSON object a line",
        flags=("log_format",),
    ),
    Option(
        name="logfile",
        kind=Kind.STRING,
        help="File to log to; standard error if not set",
        aliases=("log_file",),
        flags=("l", "log"),
        reload=Reload.LIVE,
    ),
    Option(
        name="logfile_size_limit",
        kind=Kind.SIZE,
        default=0,
        minimum=0,
        help="Size at which the log file is set aside and a new one begun; 0: never",
        aliases=("log_size_limit",),
        flags=("log_size_limit",),
        reload=Reload.LIVE,
    ),
    Option(
        name="logfile_max_num",
        kind=Kind.INT,
        default=0,
        minimum=0,
        unit="files",
        help="Log files kept, the current one included; 0: all",
        aliases=("log_max_num",),
        reload=Reload.LIVE,
    ),
    Option(
        name="syslog",
        kind=Kind.BOOL,
        default=False,
        help="Log to syslog",
        flags=("s", "syslog"),
        refusal="logs go to standard error or a file; let the service manager forward them",
    ),
    Option(
        name="remote_syslog",
        kind=Kind.STRING,
        help="Log to a syslog server",
        flags=("r", "remote_syslog"),
        refusal="logs go to standard error or a file; let the service manager forward them",
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
        refusal="there is no Go profile of this server",
    ),
    Option(
        name="prof_block_rate",
        kind=Kind.INT,
        default=0,
        help="Rate of Go's block profile",
        refusal="there is no Go profile of this server",
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

_LIMITS = (
    Option(
        name="max_control_line",
        kind=Kind.SIZE,
        default=4_096,
        minimum=1,
        maximum=_INT32_MAX,
        zero_is_default=True,
        help="Longest protocol line of a client",
        reload=Reload.LIVE,
    ),
    Option(
        name="max_payload",
        kind=Kind.SIZE,
        default=1_048_576,
        minimum=1,
        maximum=_INT32_MAX,
        zero_is_default=True,
        help="Largest message, headers included",
        reload=Reload.LIVE,
    ),
    Option(
        name="max_pending",
        kind=Kind.SIZE,
        default=64 * 1024 * 1024,
        minimum=1,
        zero_is_default=True,
        help="Bytes that may wait for one client before it is cut off as a slow consumer",
        reload=Reload.LIVE,
    ),
    Option(
        name="max_connections",
        kind=Kind.INT,
        default=65_536,
        minimum=-1,
        unit="connections",
        help="Clients at a time; 0 and -1 let none in",
        aliases=("max_conn",),
        reload=Reload.LIVE,
    ),
    Option(
        name="max_subscriptions",
        kind=Kind.INT,
        default=0,
        minimum=0,
        unit="subscriptions",
        help="Subscriptions of one client; 0: any number",
        aliases=("max_subs",),
        reload=Reload.LIVE,
    ),
    Option(
        name="max_sub_tokens",
        kind=Kind.INT,
        default=0,
        minimum=1,
        maximum=_SUBJECT_TOKENS_MAX,
        unit="tokens",
        help="Tokens in the subject of a subscription; any number if not set",
        aliases=("max_subscription_tokens",),
    ),
    Option(
        name="ping_interval",
        kind=Kind.DURATION,
        default=120.0,
        minimum=0.001,
        zero_is_default=True,
        help="Silence after which a client is sent a PING",
        reload=Reload.LIVE,
    ),
    Option(
        name="ping_max",
        kind=Kind.INT,
        default=2,
        minimum=1,
        zero_is_default=True,
        unit="PINGs",
        help="PINGs a client may leave unanswered before it is cut off",
        reload=Reload.LIVE,
    ),
    Option(
        name="write_deadline",
        kind=Kind.DURATION,
        default=10.0,
        minimum=0.001,
        zero_is_default=True,
        help="Time in which a client must take what is written to it",
        reload=Reload.LIVE,
    ),
    Option(
        name="write_timeout",
        kind=Kind.STRING,
        default="default",
        choices=("default", "close", "retry"),
        help="What happens to a client that does not",
        reload=Reload.LIVE,
    ),
    Option(
        name="no_header_support",
        kind=Kind.BOOL,
        default=False,
        help="Do not offer headers to clients",
    ),
    Option(
        name="no_fast_producer_stall",
        kind=Kind.BOOL,
        default=False,
        help="Never slow down a client that publishes faster than others read",
        reload=Reload.LIVE,
    ),
    Option(
        name="disable_sublist_cache",
        kind=Kind.BOOL,
        default=False,
        help="Match every subject anew",
        aliases=("no_sublist_cache",),
    ),
    Option(
        name="proxy_protocol",
        kind=Kind.BOOL,
        default=False,
        help="Expect the PROXY protocol before each client's",
        refusal="the PROXY protocol is not spoken",
    ),
)

_LIFECYCLE = (
    Option(
        name="lame_duck_duration",
        kind=Kind.DURATION,
        default=120.0,
        minimum=30.0,
        help="Time over which a lame duck closes its clients",
    ),
    Option(
        name="lame_duck_grace_period",
        kind=Kind.DURATION,
        default=10.0,
        minimum=0.0,
        zero_is_default=True,
        help="Time before a lame duck begins to close them",
    ),
    Option(
        name="connect_error_reports",
        kind=Kind.INT,
        default=3_600,
        minimum=1,
        zero_is_default=True,
        unit="attempts",
        help="First connects to a peer that fail between two log lines",
        reload=Reload.LIVE,
    ),
    Option(
        name="reconnect_error_reports",
        kind=Kind.INT,
        default=1,
        minimum=1,
        zero_is_default=True,
        unit="attempts",
        help="Reconnects to a peer that fail between two log lines",
        reload=Reload.LIVE,
    ),
)

CORE_SECTION = ConfigSection(
    name="",
    options=(*_NETWORK, *_LOGS, *_MONITORING, *_FILES, *_LIMITS, *_LIFECYCLE),
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
