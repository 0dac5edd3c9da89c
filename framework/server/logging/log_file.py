"""The log file: append, reopen on a signal, rotate at a size."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class LogFile:
    """Append lines to a file, and rotate it when it is full.

    A file put aside is called as nats-server calls it: the name, then the time to the
    nanosecond with dots, so that names sort by age.

    Args:
        path: The file; its folder must exist.
        size_bytes_max: Rotate before a line that would go beyond it; 0: never.
        files_max: How many files remain, the current one included; 0: all.

    Raises:
        OSError: The file can't be opened for appending.

    Source: nats-server `logger/log.go`, `fileLogger`.
    """

    def __init__(self, path: Path, *, size_bytes_max: int = 0, files_max: int = 0) -> None:
        assert size_bytes_max >= 0
        assert files_max >= 0
        self.lost_lines = 0
        """Lines that the file system refused."""
        self._path = path
        self._size_bytes_max = size_bytes_max
        self._files_max = files_max
        self._descriptor = -1
        self._size_bytes = 0
        self._open()

    def write(self, line: bytes) -> None:
        """Append a line; a full disk costs the line, not the server."""
        limit = self._size_bytes_max
        try:
            if limit and self._size_bytes and self._size_bytes + len(line) > limit:
                self._rotate()
            self._size_bytes += os.write(self._descriptor, line)
        except OSError:
            self.lost_lines += 1

    def reopen(self) -> None:
        """Open the path anew: the old file was moved away by somebody else's rotation.

        Raises:
            OSError: It can't be opened; the old file stays in use.
        """
        old = self._descriptor
        self._open()
        os.close(old)

    def close(self) -> None:
        """Let the file go; may be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = os.open(self._path, flags, 0o644)
        self._size_bytes = os.fstat(self._descriptor).st_size

    def _rotate(self) -> None:
        stamp = datetime.now(UTC).astimezone().strftime("%Y.%m.%d.%H.%M.%S.%f")
        self._path.rename(self._path.with_name(f"{self._path.name}.{stamp}000"))
        self.reopen()
        if self._files_max:
            self._prune()

    def _prune(self) -> None:
        old = sorted(self._path.parent.glob(f"{self._path.name}.[0-9]*"))
        kept = self._files_max - 1
        for path in old[: len(old) - kept]:
            path.unlink(missing_ok=True)
