"""One server in a process of its own, watched through its log; ours and real ones log alike."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from typing import TYPE_CHECKING, Self

from framework.testing.client import RawClient
from framework.testing.errors import ServerFailedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

START_TIMEOUT_S = 15.0
"""Far more than a start takes, as machines that run tests are busy."""
STOP_TIMEOUT_S = 10.0

_LEAK_SIGNS = (
    "Traceback (most recent call last)",
    "ResourceWarning",
    "was never awaited",
    "Task was destroyed",
)
"""What a process of ours prints only when it left something open or let an exception through."""


class ServerProcess:
    """A started server; its ports are known once `start` returns.

    Args:
        name: For logs and errors.
        command: Program and arguments. It must log to stderr.
        folder: Working directory.
        exit_code: What it ends with after SIGTERM.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        folder: Path,
        *,
        exit_code: int = 0,
    ) -> None:
        self.name = name
        self.command = [str(word) for word in command]
        self.port = 0
        self.cluster_port = 0
        """0 when it listens for no routes."""
        self.monitor_port = 0
        """0 when it has no monitoring."""
        self._folder = folder
        self._exit_code = exit_code
        self._log: list[str] = []
        self._ended = False
        self._changed = threading.Condition()
        self._process: subprocess.Popen[str] | None = None

    def start(self, *, clustered: bool) -> Self:
        """Start the process and wait until it says that it is ready.

        Args:
            clustered: Wait for its route listener as well; it may open after "ready".

        Raises:
            ServerFailedError: It ended, or did not become ready in time.
        """
        self._process = subprocess.Popen(
            self.command,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="backslashreplace",
            env={
                **os.environ,
                "PYTHONWARNINGS": "default::ResourceWarning",
                "PYTHONUNBUFFERED": "1",
            },
        )
        self._reader = threading.Thread(
            target=self._read_log, name=f"log of {self.name}", daemon=True
        )
        self._reader.start()
        self.wait_log("Server is ready", timeout_s=START_TIMEOUT_S)
        self.port = self._logged_port("client connections on") or 0
        if clustered:
            self.wait_log("Listening for route connections on", timeout_s=START_TIMEOUT_S)
        self.cluster_port = self._logged_port("route connections on") or 0
        self.monitor_port = self._logged_port("http monitor on") or 0
        return self

    def copy(self, name: str, command: Sequence[str | Path]) -> ServerProcess:
        """Return a server of the same kind with another command, not started."""
        return ServerProcess(name, command, self._folder, exit_code=self._exit_code)

    @property
    def pid(self) -> int:
        """Process ID; the server must have been started."""
        assert self._process
        return self._process.pid

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"nats://127.0.0.1:{self.port}"

    def client(self) -> RawClient:
        """Return a new connection; nothing of it was read or sent yet."""
        return RawClient(self.port)

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
            timeout_s: After it, the server has failed.

        Returns:
            The lines that match, in their order; at least `count`.

        Raises:
            ServerFailedError: They did not come, or the server ended before.
        """
        wanted = re.compile(pattern)

        def matching() -> list[str]:
            return [line for line in self._log if wanted.search(line)]

        with self._changed:
            self._changed.wait_for(lambda: len(matching()) >= count or self._ended, timeout_s)
            found = matching()
        if len(found) < count:
            raise ServerFailedError(
                self.name,
                f"no {pattern!r} in its log ({len(found)} of {count})",
                self.log(),
            )
        return found

    def _logged_port(self, phrase: str) -> int | None:
        found = re.search(rf"{phrase} \S*:(\d+)", self.log())
        return int(found[1]) if found else None

    def _read_log(self) -> None:
        assert self._process
        assert self._process.stderr
        for line in self._process.stderr:
            with self._changed:
                self._log.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    # -- the end

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process if it still runs."""
        assert self._process
        self._process.send_signal(number)

    def wait(self) -> int:
        """Wait for the end of the process and return its exit code."""
        assert self._process
        try:
            code = self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise ServerFailedError(self.name, "did not stop", self.log()) from None
        finally:
            self._reader.join(STOP_TIMEOUT_S)
            if self._process.stderr:
                self._process.stderr.close()
        return code

    def kill(self) -> None:
        """End the process at once, as a crash would; twice is fine."""
        if self.is_running():
            self.signal(signal.SIGKILL)
            self.wait()

    def stop(self) -> None:
        """Stop it as an operator does, and check how it went; nothing happens when it has ended.

        Raises:
            ServerFailedError: It does not stop, its exit code is another, or it left things open.
        """
        if not self.is_running():
            return
        self.signal(signal.SIGTERM)
        code = self.wait()
        if code != self._exit_code:
            raise ServerFailedError(self.name, f"exit code {code} after SIGTERM", self.log())
        signs = [sign for sign in _LEAK_SIGNS if sign in self.log()]
        if signs:
            raise ServerFailedError(self.name, f"its log shows {signs}", self.log())

    def is_running(self) -> bool:
        """Tell whether the process was started and has not ended."""
        return self._process is not None and self._process.poll() is None
