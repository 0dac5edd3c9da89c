"""Logs of the servers: a folder, or one stream with the server's name before each line."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Protocol

from typing_extensions import override

from framework.supervise.limits import LOG_LINE_BYTES_MAX, LOG_TAIL_BYTES_MAX
from framework.supervise.report import LineSplitter
from framework.supervise.shown import last_line, shown

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path


class ServerLog(Protocol):
    """The log of one run of one server."""

    fd: int
    """For the child to write to; closed here by `handed_over`."""
    words: tuple[str, ...]
    """What the command line of the child says of it."""

    def handed_over(self) -> None:
        """Take note that the child holds its own copy of `fd`, or that there will be no child."""
        ...

    def finish(self) -> str:
        """Return the last line of this run, once its process is gone; empty when there is none."""
        ...


class Logs(Protocol):
    """Makes logs."""

    def open(self, name: str) -> ServerLog:
        """Return a log for the next run of the server `name`.

        Raises:
            OSError: The log can't be written.
        """
        ...


class LogFolder:
    """One file a server, appended to: `<folder>/<name>.log`.

    The child writes to the file itself, so neither a busy supervisor nor a terminal that someone
    has stopped can hold a server up.

    Args:
        folder: Made when it is not there.

    Raises:
        OSError: It can't be made.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def open(self, name: str) -> ServerLog:
        """Return the log file of `name`."""
        return _FileLog(self._folder / f"{name}.log")


class _FileLog(ServerLog):
    def __init__(self, path: Path) -> None:
        self._path = path
        self.words = ("--stderr-file", str(path.absolute()))
        self.fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._begin = os.fstat(self.fd).st_size

    @override
    def handed_over(self) -> None:
        os.close(self.fd)

    @override
    def finish(self) -> str:
        try:
            with self._path.open("rb") as file:
                end = file.seek(0, os.SEEK_END)
                file.seek(max(self._begin, end - LOG_TAIL_BYTES_MAX))
                return last_line(file.read(LOG_TAIL_BYTES_MAX))
        except OSError:  # removed or rotated meanwhile: there is nothing to quote
            return ""


class LogPrefixer:
    """All logs on one stream, each line with the name of its server before it.

    Args:
        loop: Watches the pipes.
        stream: Where the lines go.
        width: Of the longest name, so that the lines stand in a column.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, stream: IO[str], width: int) -> None:
        self._loop = loop
        self._stream = stream
        self._width = width

    def open(self, name: str) -> ServerLog:
        """Return a pipe whose lines come out prefixed."""
        return _PipeLog(self._loop, self._stream, f"{name:<{self._width}} | ")


class _PipeLog(ServerLog):
    def __init__(self, loop: asyncio.AbstractEventLoop, stream: IO[str], prefix: str) -> None:
        self._loop = loop
        self._stream = stream
        self._prefix = prefix
        self._lines = LineSplitter(LOG_LINE_BYTES_MAX)
        self._last = ""
        self.words = ()
        self._read_fd, self.fd = os.pipe()
        os.set_blocking(self._read_fd, False)
        loop.add_reader(self._read_fd, self._read)

    @override
    def handed_over(self) -> None:
        os.close(self.fd)

    @override
    def finish(self) -> str:
        # A grandchild may keep the pipe open, so this takes what is there and waits for no end.
        while self._read():
            pass
        self._loop.remove_reader(self._read_fd)
        os.close(self._read_fd)
        self._write([self._lines.take_rest()])
        return self._last

    def _read(self) -> bool:
        try:
            data = os.read(self._read_fd, LOG_LINE_BYTES_MAX)
        except BlockingIOError:
            return False
        if not data:
            self._loop.remove_reader(self._read_fd)
            return False
        self._write(self._lines.feed(data))
        return True

    def _write(self, lines: list[bytes]) -> None:
        texts = [text for line in lines if (text := line.decode(errors="backslashreplace"))]
        if texts:
            self._last = shown(texts[-1])
            with suppress(OSError):  # whoever read the logs is gone; the servers need not be
                self._stream.write("".join(f"{self._prefix}{text}\n" for text in texts))
                self._stream.flush()
