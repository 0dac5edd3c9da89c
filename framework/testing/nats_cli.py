"""The real `nats` command line tool, run as people run it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from framework.testing import peers
from framework.testing.watched_process import WatchedProcess

_TIMEOUT_S = 30.0


class NatsCli:
    """Runs `nats` with no context of this user, so that only its arguments count.

    Args:
        folder: Working directory, and where it keeps what it writes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = peers.find("nats")
        self.processes: list[WatchedProcess] = []
        """Started in the background."""

    def run(self, servers: str, *words: str) -> str:
        """Run a command to its end and return what it printed.

        Args:
            servers: URLs, with commas.
            words: The command and its arguments.
        """
        code, printed = self.attempt(servers, *words)
        assert code == 0, f"nats {' '.join(words)} failed: {printed}"
        return printed

    def attempt(self, servers: str, *words: str) -> tuple[int, str]:
        """Run a command that may fail to its end; return its exit code and what it printed.

        Args:
            servers: URLs, with commas.
            words: The command and its arguments.
        """
        command: list[str | Path] = [self._program, "--server", servers, *words]
        done = subprocess.run(
            command,
            cwd=self._folder,
            env={**os.environ, **self._homes(), "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def start(self, servers: str, *words: str) -> WatchedProcess:
        """Start a command that goes on, as `sub` and `reply` do.

        Args:
            servers: URLs, with commas.
            words: The command and its arguments.
        """
        command: list[str | Path] = [
            "env",
            *(f"{name}={folder}" for name, folder in self._homes().items()),
            self._program,
            "--server",
            servers,
            *words,
        ]
        process = WatchedProcess(f"nats {words[0]}", command, self._folder)
        self.processes.append(process)
        process.run()
        return process

    def _homes(self) -> dict[str, str]:
        """Return where it keeps contexts, and the keys and tokens of `nats auth`."""
        folder = str(self._folder)
        return {"XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder}

    def stop(self) -> None:
        """End what goes on."""
        for process in self.processes:
            process.kill()
