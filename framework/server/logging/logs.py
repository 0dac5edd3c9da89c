"""Logs of one server: structlog's bound loggers, in nats-server's line format or as JSON.

An event is a fixed text. What varies are its fields: `{name}` in the text is filled from the
field of that name, `remote` and a connection ID become the usual prefix, and fields that have
no place in the text follow it. So a line reads as nats-server's does, and JSON has the fields.
"""

from __future__ import annotations

import logging
import os
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, cast

from msgspec import Struct
from typing_extensions import override

from framework.server.logging.log_file import LogFile
from framework.server.logging.log_limiter import RepeatLimiter
from framework.server.logging.log_line import DEBUG, ERROR, FATAL, INFO, TRACE, WARNING, LineFormat

if TYPE_CHECKING:
    from collections.abc import Callable

    from structlog.typing import EventDict, FilteringBoundLogger

    from framework.server.logging.log_line import Level

__all__ = ["FIELDS", "LogSettings", "Logs"]

FIELDS: Final = {
    "server": "name of the server",
    "remote": "address of the peer, `host:port`; begins the line",
    "cid": "connection ID of a client; begins the line",
    "rid": "connection ID of a route; begins the line",
    "gid": "connection ID of a gateway; begins the line",
    "lid": "connection ID of a leafnode; begins the line",
    "client": "what a client says it is: version, language and name; begins the line",
    "login": "account and user of a client, such as `$G/user:joe`; begins the line",
    "kind": "kind of a connection: Client, Route, Gateway, Leafnode",
    "account": "name of an account",
    "reason": "why a connection ended, as `/connz` says it",
    "detail": "what was wrong, in words",
    "address": "`host:port` that this server listens on or dials",
    "component": "name of an actor's ComponentSpec",
    "plugin": "name of a plugin",
    "hook": "name of a hook",
    "option": "path of an option, such as `cluster.name`",
    "path": "file or folder",
    "count": "how many",
    "user": "name that a client has logged in with, or tried to",
    "error": "an exception, as text",
}
"""The fields of the core's log events; a plugin may add its own."""


_TRACEBACK_FRAMES_MAX: Final = 30


class LogSettings(Struct, frozen=True):
    """Log options of a server, by nats-server's names."""

    debug: bool = False
    trace: bool = False
    trace_headers: bool = False
    """Of messages trace the headers alone."""
    trace_verbose: bool = False
    """Trace what the server publishes itself, too."""
    logtime: bool = True
    logtime_utc: bool = False
    log_file: str = ""
    """Empty: standard error."""
    logfile_size_limit: int = 0
    """Bytes; 0: no rotation."""
    logfile_max_num: int = 0
    json: bool = False

    @property
    def level(self) -> Level:
        """Return the lowest level that is written; traced lines are written besides, or not."""
        return DEBUG if self.debug else INFO


class _Output:
    """What loggers wrap: the level, the format and the place that all bound loggers share."""

    def __init__(self, clock_ns: Callable[[], int]) -> None:
        self.level: Level = INFO
        self.trace_too = False
        self.format = LineFormat(pid=os.getpid())
        self.file: LogFile | None = None
        self.clock_ns = clock_ns
        self.limiter = RepeatLimiter()

    def emit(self, level: Level, event: str, fields: EventDict) -> None:
        now_ns = self.clock_ns()
        repeats = 0
        if level in {WARNING, ERROR}:
            repeats = self.limiter.admit(event, now_ns)
            if repeats < 0:
                return
        if repeats:
            summary = {"count": repeats, "detail": event}
            self.write(
                self.format.line(now_ns, level, "{count} more lines like: {detail}", summary)
            )
        error = fields.pop("exc_info", None)
        if isinstance(error, BaseException):
            fields["error"] = repr(error)
        self.write(self.format.line(now_ns, level, event, fields))
        if isinstance(error, BaseException):
            for line in _traceback_lines(error):
                self.write(self.format.line(now_ns, level, "  {detail}", {"detail": line}))

    def write(self, line: str) -> None:
        data = line.encode("utf-8", "backslashreplace")
        if self.file is not None:
            self.file.write(data)
            return
        try:
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, data)
        except OSError:  # a closed or full standard error must not stop the server
            return


class _Logger:
    """A bound logger of structlog's interface, whose level may change while it is held.

    structlog's own filtering loggers fix the level in the class, and know no trace level. Nothing
    of structlog is imported for it: that costs 8 ms and 22 modules of every start, and 80 ms more
    where `rich` is installed.

    Args:
        logger: Where lines go.
        processors: Of structlog's interface; there are none.
        context: Fields of every line.

    Source: structlog `typing.py`, `BindableLogger`.
    """

    def __init__(self, logger: _Output, processors: object, context: dict[str, object]) -> None:
        self._logger = logger
        self._processors = processors
        self._context = context

    def bind(self, **fields: object) -> Self:
        return self._with({**self._context, **fields})

    def new(self, **fields: object) -> Self:
        return self._with(fields)

    def unbind(self, *names: str) -> Self:
        if absent := [name for name in names if name not in self._context]:
            raise KeyError(*absent)
        return self.try_unbind(*names)

    def try_unbind(self, *names: str) -> Self:
        return self._with({k: v for k, v in self._context.items() if k not in names})

    def log(self, level: Level, event: str, **fields: object) -> None:
        if self.is_enabled_for(level):
            self._logger.emit(level, event, {**self._context, **fields})

    def debug(self, event: str, **fields: object) -> None:
        if self._logger.level <= DEBUG:
            self._logger.emit(DEBUG, event, {**self._context, **fields})

    def info(self, event: str, **fields: object) -> None:
        if self._logger.level <= INFO:
            self._logger.emit(INFO, event, {**self._context, **fields})

    def warning(self, event: str, **fields: object) -> None:
        self._logger.emit(WARNING, event, {**self._context, **fields})

    def error(self, event: str, **fields: object) -> None:
        self._logger.emit(ERROR, event, {**self._context, **fields})

    def exception(self, event: str, **fields: object) -> None:
        self.error(event, **{"exc_info": sys.exc_info()[1], **fields})

    def critical(self, event: str, **fields: object) -> None:
        self._logger.emit(FATAL, event, {**self._context, **fields})

    fatal = critical
    warn = warning
    msg = info

    def is_enabled_for(self, level: int) -> bool:
        if level == TRACE:
            return self._logger.trace_too
        return level >= self._logger.level

    def get_effective_level(self) -> int:
        return self._logger.level

    def _with(self, context: dict[str, object]) -> Self:
        return type(self)(self._logger, self._processors, context)

    @override
    def __repr__(self) -> str:
        return f"<logger {self._context!r}>"


class _ForeignHandler(logging.Handler):
    """Bring what libraries log through the standard library into the server's own log."""

    def __init__(self, log: FilteringBoundLogger) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    @override
    def emit(self, record: logging.LogRecord) -> None:
        write = self._log.error if record.levelno >= ERROR else self._log.warning
        error = record.exc_info[1] if record.exc_info else None
        extra = {"exc_info": error} if error else {}
        write("{component}: {detail}", component=record.name, detail=record.getMessage(), **extra)


class Logs:
    """Write the log lines of one server; every logger bound from `log` follows a reload.

    Args:
        settings: Level, format and place.
        clock_ns: Wall clock, nanoseconds since 1970.

    Raises:
        OSError: The log file can't be opened.
    """

    def __init__(
        self, settings: LogSettings | None = None, *, clock_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self._output = _Output(clock_ns)
        self._settings = LogSettings()
        self.configure(settings or LogSettings())

    @property
    def log(self) -> FilteringBoundLogger:
        """Return a logger; callable from any thread, and so is every method of what it returns."""
        return cast("FilteringBoundLogger", _Logger(self._output, [], {}))

    @property
    def settings(self) -> LogSettings:
        """Return what is in force."""
        return self._settings

    def carry_global_loggers(self) -> None:
        """Bring here what is logged through loggers that belong to no server.

        That is: `structlog.get_logger`, if a plugin has imported structlog by now, and warnings of
        libraries through the standard library. For the one server of a process.
        """
        structlog = sys.modules.get("structlog")
        if structlog is not None:
            structlog.configure(
                processors=[], wrapper_class=_Logger, logger_factory=lambda *_: self._output
            )
        root = logging.getLogger()  # noqa: TID251 - here the standard library's records leave it
        root.handlers = [_ForeignHandler(self.log)]
        root.setLevel(logging.WARNING)

    def configure(self, settings: LogSettings) -> None:
        """Put other settings in force, for loggers that are held already too.

        Raises:
            OSError: The log file can't be opened; nothing has changed.
        """
        output = self._output
        place = ("log_file", "logfile_size_limit", "logfile_max_num")
        if any(getattr(settings, name) != getattr(self._settings, name) for name in place):
            fresh = _open_file(settings)
            if output.file is not None:
                output.file.close()
            output.file = fresh
        output.level = settings.level
        output.trace_too = settings.trace
        output.format = LineFormat(
            pid=os.getpid(),
            with_time=settings.logtime,
            utc=settings.logtime_utc,
            json=settings.json,
        )
        self._settings = settings

    def reopen(self) -> bool:
        """Open the log file anew, after it was moved away; tell whether there is one.

        Raises:
            OSError: It can't be opened; the old one stays in use.
        """
        if self._output.file is not None:
            self._output.file.reopen()
        return self._output.file is not None

    def close(self) -> None:
        """Let the log file go; later lines go to standard error."""
        if self._output.file is not None:
            self._output.file.close()
            self._output.file = None


def _traceback_lines(error: BaseException) -> list[str]:
    """Return where an error came from, outermost call first; without its own text."""
    return [
        f'File "{frame.filename}", line {frame.lineno}, in {frame.name}'
        for frame in traceback.extract_tb(error.__traceback__, _TRACEBACK_FRAMES_MAX)
    ]


def _open_file(settings: LogSettings) -> LogFile | None:
    if not settings.log_file:
        return None
    return LogFile(
        Path(settings.log_file),
        size_bytes_max=settings.logfile_size_limit,
        files_max=settings.logfile_max_num,
    )
