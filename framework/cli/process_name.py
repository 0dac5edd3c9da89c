"""The name of a process that runs a server, by which `--signal` finds it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

PROCESS_NAME: Final = "nats-server"


def name_process() -> None:
    """Call this process `nats-server` in the process table, where that can be told (Linux).

    A console script has the name already; what `framework run` launches is a `python` otherwise.
    """
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(PROCESS_NAME)
