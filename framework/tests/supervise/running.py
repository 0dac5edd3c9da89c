"""A supervisor in a process of its own, its status read from a pipe."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from typing import TYPE_CHECKING, Self

import pytest

if TYPE_CHECKING:
    from pathlib import Path


_TIME = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d ")


class Run:
    """A supervisor that runs, or has run; `lines` are those of its status, without the time."""

    def __init__(self, words: list[str]) -> None:
        self.process = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []

    def until(self, words: str) -> str:
        """Read lines up to one with `words` in it, and return that."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(_untimed(line.rstrip("\n")))
            if words in line:
                return self.lines[-1]
        pytest.fail(f"no line says {words!r}: {self.lines}")

    def end(self) -> tuple[int, str]:
        """Read to the end and return the exit status and what stood on stderr."""
        out, err = self.process.communicate()
        self.lines += map(_untimed, out.splitlines())
        return self.process.returncode, err

    def pid_of(self, name: str) -> int:
        """Return the pid of a server, as its last line that says ready has it."""
        line = next(line for line in reversed(self.lines) if line.startswith(f"{name} ready "))
        return int(line.rpartition(" ")[2])

    def interrupt(self) -> None:
        """Press Ctrl-C: the terminal signals the whole process group."""
        os.killpg(self.process.pid, signal.SIGINT)


def _untimed(line: str) -> str:
    assert _TIME.match(line), line
    return _TIME.sub("", line, count=1)


class Runs:
    """Starts supervisors, and ends those that a test leaves running."""

    def __init__(self) -> None:
        self._runs: list[Run] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for run in self._runs:
            if run.process.poll() is None:
                run.process.kill()  # its servers see their channel close
                run.process.communicate()

    def start(self, *words: str | Path) -> Run:
        """Start one."""
        self._runs.append(Run([str(word) for word in words]))
        return self._runs[-1]
