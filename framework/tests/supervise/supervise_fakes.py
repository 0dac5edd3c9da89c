"""Supervises fake servers, as `framework run` does real ones.

Usage: supervise_fakes.py FOLDER [--bug] [--logs] NAME=BEHAVIOUR...

With --bug the supervisor fails as soon as a server is ready; with --logs, or in a terminal, logs
go to files in FOLDER/logs.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from typing_extensions import override

from framework.supervise import RestartPolicy, ServerCommand, run_servers
from framework.tests.supervise.shown_sections import MESH

POLICY = RestartPolicy(delay_first_s=0.05, delay_max_s=0.1, stop_deadline_s=20)


class Bug(io.StringIO):
    """Stands for anything that raises what nobody expects."""

    @override
    def write(self, text: str) -> int:
        if " ready " in text:
            raise ZeroDivisionError("a bug")
        return sys.stdout.write(text)

    @override
    def flush(self) -> None:
        sys.stdout.flush()


def main(folder: Path, pairs: list[str]) -> int:
    is_buggy = "--bug" in pairs
    has_logs = "--logs" in pairs or sys.stdout.isatty()
    script = str(Path(__file__).with_name("fake_server.py"))
    commands = []
    for pair in pairs:
        if pair.startswith("--"):
            continue
        name, _, behaviour = pair.partition("=")
        marker = str(folder / f"{name}.marker")
        commands.append(ServerCommand(name, (sys.executable, script, behaviour, marker)))
    return run_servers(
        commands,
        title="fakes",
        file=str(folder / "fakes.toml"),
        log_folder=folder / "logs" if has_logs else None,
        stdout=Bug() if is_buggy else sys.stdout,
        stderr=sys.stderr,
        sections=[MESH],
        policy=POLICY,
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
