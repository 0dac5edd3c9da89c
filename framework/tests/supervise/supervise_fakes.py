"""Supervises fake servers, as `framework run` does real ones.

Usage: supervise_fakes.py FOLDER NAME=BEHAVIOUR...
"""

from __future__ import annotations

import sys
from pathlib import Path

from framework.supervise import RestartPolicy, ServerCommand, run_servers

POLICY = RestartPolicy(delay_first_s=0.05, delay_max_s=0.1, stop_deadline_s=20)


def main(folder: Path, pairs: list[str]) -> int:
    script = str(Path(__file__).with_name("fake_server.py"))
    commands = []
    for pair in pairs:
        name, _, behaviour = pair.partition("=")
        marker = str(folder / f"{name}.marker")
        commands.append(ServerCommand(name, (sys.executable, script, behaviour, marker)))
    return run_servers(
        commands,
        title="fakes",
        log_folder=folder / "logs",
        stdout=sys.stdout,
        stderr=sys.stderr,
        policy=POLICY,
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
