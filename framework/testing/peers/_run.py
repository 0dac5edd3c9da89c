"""Runs the commands that bring a peer."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from framework.testing.errors import PeerMissingError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def run(
    name: str,
    command: Sequence[str | Path],
    *,
    folder: Path,
    environment: dict[str, str] | None = None,
) -> str:
    """Run a command to its end and return what it printed.

    Args:
        name: The peer it is for.
        command: Program and arguments.
        folder: Where to run it.
        environment: In place of our own.

    Raises:
        PeerMissingError: It failed.
    """
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        words = " ".join(map(str, command))
        raise PeerMissingError(name, f"`{words}` failed:\n{done.stderr.strip()[-2000:]}", "")
    return done.stdout + done.stderr
