"""One server in a process of its own, watched through its log; ours and real ones log alike."""

from __future__ import annotations

import json
import re
import signal
import urllib.request
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Self

from framework.testing.client import RawClient
from framework.testing.errors import ServerFailedError
from framework.testing.watched_process import STOP_TIMEOUT_S, WatchedProcess

_RELOADED = "Reloaded server configuration"

_LEAK_SIGNS = (
    "Traceback (most recent call last)",
    "ResourceWarning",
    "was never awaited",
    "Task was destroyed",
)
"""What a process of ours prints only when it left something open or let an exception through."""


class ServerProcess(WatchedProcess):
    """A started server; its ports are known once `start` returns.

    Args:
        name: For logs and errors.
        command: Program and arguments. It must log to stderr.
        folder: Working directory.
        exit_codes: What it may end with after SIGTERM.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        folder: Path,
        *,
        exit_codes: Collection[int] = (0,),
    ) -> None:
        super().__init__(name, command, folder)
        self.port = 0
        self.cluster_port = 0
        """0 when it listens for no routes."""
        self.monitor_port = 0
        """0 when it has no monitoring."""
        self._exit_codes = exit_codes

    def start(self, *, clustered: bool) -> Self:
        """Start the process and wait until it says that it is ready.

        Args:
            clustered: Wait for its route listener as well; it may open after "ready".

        Raises:
            ServerFailedError: It ended, or did not become ready in time.
        """
        self.run()
        try:
            self.wait_log("Server is ready")
            if clustered:
                self.wait_log("Listening for route connections on")
        except ServerFailedError:
            self.kill()
            raise
        self.port = self._logged_port("client connections on")
        self.cluster_port = self._logged_port("route connections on")
        self.monitor_port = self._logged_port("http monitor on")
        return self

    def copy(self, name: str, command: Sequence[str | Path]) -> ServerProcess:
        """Return a server of the same kind with another command, not started."""
        return ServerProcess(name, command, self._folder, exit_codes=self._exit_codes)

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"nats://127.0.0.1:{self.port}"

    def client(self) -> RawClient:
        """Return a new connection; nothing of it was read or sent yet."""
        return RawClient(self.port)

    def document(self, path: str) -> dict[str, Any]:
        """Return what its monitoring answers; the server must have been started with it.

        Args:
            path: With its query: `/routez?subs=1`.
        """
        with urllib.request.urlopen(f"http://127.0.0.1:{self.monitor_port}{path}") as answer:
            document: dict[str, Any] = json.load(answer)
        return document

    def reload(self, config: str) -> None:
        """Write its configuration file anew and wait until it says that it follows it.

        Args:
            config: The whole text; the server must have been started with `-c`.
        """
        done = len(re.findall(_RELOADED, self.log()))
        Path(self.command[self.command.index("-c") + 1]).write_text(config, "utf-8")
        self.signal(signal.SIGHUP)
        self.wait_log(_RELOADED, count=done + 1)

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Stop it as an operator does, and check how it went; nothing happens when it has ended.

        Args:
            timeout_s: What it may take.

        Raises:
            ServerFailedError: It does not stop, its exit code is another, or it left things open.
        """
        if not self.is_running():
            self.kill()
            return
        self.signal(signal.SIGTERM)
        code = self.wait(timeout_s)
        if code not in self._exit_codes:
            raise ServerFailedError(self.name, f"exit code {code} after SIGTERM", self.log())
        signs = [sign for sign in _LEAK_SIGNS if sign in self.log()]
        if signs:
            raise ServerFailedError(self.name, f"its log shows {signs}", self.log())

    def _logged_port(self, phrase: str) -> int:
        found = re.search(rf"{phrase} \S*:(\d+)", self.log())
        return int(found[1]) if found else 0
