"""Building and running the load generator."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.testing import ServerProcess

SOURCES = tuple(Path(__file__).parent / name for name in ("loadgen.c", "loadgen_jetstream.c"))


def build_loadgen(folder: Path) -> Path:
    """Compile the load generator."""
    program = folder / "loadgen"
    subprocess.run(["gcc", "-O2", "-pthread", "-o", program, *SOURCES], check=True)
    return program


def run_loadgen(
    loadgen: Path,
    mode: str,
    servers: Sequence[ServerProcess],
    *options: str,
    before: Sequence[str] = (),
) -> dict[str, float]:
    """Run it once and return its document.

    Args:
        loadgen: The program.
        mode: See its head.
        servers: Publishers go to the first, subscribers to the last.
        options: As `key=value`.
        before: Words before the command, such as `taskset`.
    """
    pids = ",".join(str(server.pid) for server in servers)
    ports = [f"port={servers[0].port}", f"subport={servers[-1].port}", f"pid={pids}"]
    command: list[str | Path] = [*before, loadgen, mode, *ports, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(map(str, command))}: {done.stderr}{done.stdout}")
    document: dict[str, float] = json.loads(done.stdout)
    return document
