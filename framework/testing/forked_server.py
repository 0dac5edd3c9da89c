"""Servers of ours as forks of a process that has imported what they need.

Imports take most of a start, and tests start thousands of servers. What runs is the same program
from its first line on, with its own environment, signals and folder. Tests of the start itself run
it by `subprocess`; `FRAMEWORK_COLD_STARTS=1` has all of them do so.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import connection
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from multiprocessing.context import ForkServerContext

PROGRAM = (sys.executable, "-m", "framework")
"""The words that run our program, before its own."""
_COLD_STARTS = "FRAMEWORK_COLD_STARTS"
_lock = threading.Lock()
"""For exit codes, which one reader gets: each start looks at those of all processes before it."""


def can_fork(command: Sequence[str]) -> bool:
    """Tell whether a command is our `serve`, to be started as a fork."""
    return tuple(command[:4]) == (*PROGRAM, "serve") and not os.environ.get(_COLD_STARTS)


class ForkedServer:
    """A started server, with those parts of `subprocess.Popen` that tests need.

    Args:
        command: `can_fork` says yes to it.
        folder: Working directory.
        environment: All of its environment variables.
    """

    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> None:
        context = _context()
        ours, theirs = context.Pipe(duplex=False)
        self._process = context.Process(
            target=_serve, args=(command, str(folder), dict(environment), theirs), daemon=True
        )
        with _lock, _no_main():
            self._process.start()
        theirs.close()
        self._code: int | None = None
        self._ended = self._process.sentinel
        self.pid: int = self._process.pid or 0
        self.stdout: IO[str] = os.fdopen(
            os.dup(ours.fileno()), encoding="utf-8", errors="backslashreplace"
        )
        ours.close()

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while the server runs."""
        with _lock:
            if self._code is None and self._process.exitcode is not None:
                self._code = self._process.exitcode
                self._process.close()  # who remembers its servers keeps no descriptors of them
            return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the server and return its exit code.

        Args:
            timeout: In seconds; None for no end.

        Raises:
            subprocess.TimeoutExpired: It still runs.
        """
        if self.poll() is None:
            connection.wait([self._ended], timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(PROGRAM, timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal to the server if it still runs."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended, and its exit code is on its way
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End the server at once, as a crash would."""
        self.send_signal(signal.SIGKILL)


@contextmanager
def _no_main() -> Iterator[None]:
    """Hide the main module of this process: the fork would import it, and has no use for it."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@cache
def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["framework.testing.preloaded"])
    return context


def _serve(
    command: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    output: connection.Connection,
) -> None:
    """Be that program; the fork ends in it."""
    for number in (1, 2):
        os.dup2(output.fileno(), number)
    output.close()
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(folder)
    sys.path.insert(0, folder)  # as `-m` does
    sys.argv = [command[2], *command[3:]]
    warnings.simplefilter("default", ResourceWarning)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr] # not replaced here
    runpy.run_module(command[2], run_name="__main__", alter_sys=True)
