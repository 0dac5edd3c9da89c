"""A process whose output tests wait on, line by line, in place of sleeping."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from framework.testing.errors import ServerFailedError
from framework.testing.forked_server import ForkedServer, can_fork

START_TIMEOUT_S = 30.0
"""Far more than a start takes, as machines that run tests are busy."""
STOP_TIMEOUT_S = 20.0


class WatchedProcess:
    """A program that runs while a test goes on; standard output and error are read as one log.

    Args:
        name: For errors.
        command: Program and arguments.
        folder: Working directory.
    """

    def __init__(self, name: str, command: Sequence[str | Path], folder: Path) -> None:
        self.name = name
        self.command = [str(word) for word in command]
        self._folder = folder
        self._log: list[str] = []
        self._ended = False
        self._changed = threading.Condition()
        self._process: subprocess.Popen[str] | ForkedServer | None = None

    def run(self) -> None:
        """Start the process; it may not be there yet for those who want something of it."""
        environment = {
            **os.environ,
            "PYTHONWARNINGS": "default::ResourceWarning",
            "PYTHONUNBUFFERED": "1",
        }
        if can_fork(self.command):
            self._process = ForkedServer(self.command, self._folder, environment)
        else:
            self._process = subprocess.Popen(
                self.command,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="backslashreplace",
                env=environment,
            )
        self._reader = threading.Thread(target=self._read, name=f"log of {self.name}", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Process ID; the process must have been started."""
        assert self._process
        return self._process.pid

    # -- the log

    def log(self) -> str:
        """Return all lines so far."""
        with self._changed:
            return "\n".join(self._log)

    def wait_log(
        self, pattern: str, *, count: int = 1, timeout_s: float = START_TIMEOUT_S
    ) -> list[str]:
        """Wait until lines that match a regular expression were logged.

        Args:
            pattern: Searched for in each line since the start.
            count: Lines wanted.
            timeout_s: After it, the process has failed.

        Returns:
            The lines that match, in their order; at least `count`.

        Raises:
            ServerFailedError: They did not come, or the process ended before.
        """
        wanted = re.compile(pattern)

        def matching() -> list[str]:
            return [line for line in self._log if wanted.search(line)]

        with self._changed:
            self._changed.wait_for(lambda: len(matching()) >= count or self._ended, timeout_s)
            found = matching()
        if len(found) < count:
            problem = f"no {pattern!r} in its log ({len(found)} of {count})"
            raise ServerFailedError(self.name, problem, self.log())
        return found

    def _read(self) -> None:
        assert self._process
        assert self._process.stdout
        for line in self._process.stdout:
            with self._changed:
                self._log.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    # -- the end

    def is_running(self) -> bool:
        """Tell whether the process was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process if it still runs."""
        assert self._process
        self._process.send_signal(number)

    def wait(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Wait for the end of the process and return its exit code.

        Args:
            timeout_s: After it, the process has failed.

        Raises:
            ServerFailedError: It does not end; it is killed then.
        """
        assert self._process
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise ServerFailedError(self.name, "did not stop", self.log()) from None
        finally:
            self._reader.join(STOP_TIMEOUT_S)
            if self._process.stdout:
                self._process.stdout.close()

    def kill(self) -> None:
        """End the process at once, as a crash would; twice is fine."""
        if self._process is not None:
            self._process.kill()
            self.wait()
