"""Options of logging."""

from __future__ import annotations

from framework.topology.option import Kind, Option, Reload

__all__ = ["LOG_OPTIONS"]

LOG_OPTIONS = (
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
        help="Log every protocol line and message",
        flags=("V", "trace"),
        reload=Reload.LIVE,
    ),
    Option(
        name="trace_verbose",
        kind=Kind.BOOL,
        default=False,
        help="Log what the server itself publishes, too; implies trace",
        flags=("VV",),
        reload=Reload.LIVE,
    ),
    Option(
        name="trace_headers",
        kind=Kind.BOOL,
        default=False,
        help="Log headers of traced messages, without their payload; implies trace",
        reload=Reload.LIVE,
    ),
    Option(
        name="max_traced_msg_len",
        kind=Kind.INT,
        default=0,
        minimum=0,
        unit="bytes",
        help="Longest part of a message that a trace shows; 0: 1,024",
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
        default="",
        help="Log to a syslog server",
        flags=("r", "remote_syslog"),
        refusal="logs go to standard error or a file; let the service manager forward them",
    ),
)
