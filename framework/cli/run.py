"""`framework run`: the servers of a topology, each in a process of its own, or one of them."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from framework.cli.errors import CommandError
from framework.cli.topologies import load_topology

if TYPE_CHECKING:
    from framework.cli.plugin_choice import PluginChoice
    from framework.plugins import PluginRegistry
    from framework.topology import ServerConfig

_HELP = "run the servers of a topology"


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
) -> argparse.ArgumentParser:
    """Add the command and return its parser."""
    parser = commands.add_parser("run", help=_HELP, description=_HELP, allow_abbrev=False)
    parser.add_argument("file", metavar="FILE", help="a topology (.toml, .hocon) or a .conf file")
    parser.add_argument("--server", metavar="NAME", help="run only this one, in this process")
    parser.add_argument(
        "--log-dir", metavar="DIR", type=Path, help="log files of the servers, in a terminal"
    )
    # For the supervisor: the channel on which one server reports.
    parser.add_argument("--status-fd", metavar="N", type=int, help=argparse.SUPPRESS)
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Run what the arguments say until it is stopped, and return the exit status."""
    choice: PluginChoice = arguments.choice
    if arguments.server is not None:
        return _run_one(arguments.file, choice, arguments.server, arguments.status_fd)
    topology, _ = load_topology(arguments.file, choice)
    from framework.supervise import ServerCommand, run_servers  # noqa: PLC0415

    return run_servers(
        [
            ServerCommand(plan.name, server_command(arguments.file, plan.name, choice))
            for plan in topology.servers
        ],
        title=topology.name,
        log_folder=arguments.log_dir or default_log_folder(topology.name),
        stdout=sys.stdout,
        stderr=sys.stderr,
    )


def server_command(file: str, server: str, choice: PluginChoice) -> tuple[str, ...]:
    """Return the words that run one server of a topology with this very Python."""
    # `-m` puts the working folder before the installed packages, unless we were started so too.
    is_here = {"", str(Path.cwd())} & set(sys.path)
    flags = () if is_here else ("-P",)
    words = ("-m", "framework", "run", file, "--server", server, *choice.words())
    return (sys.executable, *flags, *words)


def default_log_folder(topology: str) -> Path:
    """Return where the logs of a topology go: below the user's folder for such things.

    Source: XDG Base Directory Specification, `XDG_STATE_HOME`.
    """
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if Path(state).is_absolute() else _home() / ".local" / "state"
    return folder / "framework" / topology.replace("/", "_")


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # a user without a name, as some containers have
        return Path(tempfile.gettempdir())


def _run_one(file: str, choice: PluginChoice, name: str, status_fd: int | None) -> int:
    gc.disable()  # until the server is up: what a start makes stays
    if status_fd is not None:
        from framework.supervise import stop_with_supervisor  # noqa: PLC0415

        stop_with_supervisor(status_fd)

    def read() -> tuple[ServerConfig, PluginRegistry]:
        topology, registry = load_topology(file, choice)
        plan = topology.server(name)
        if plan is None:
            names = ", ".join(plan.name for plan in topology.servers)
            raise CommandError(f'{file} has no server "{name}"', f"it has {names}")
        return plan.config, registry

    from framework.server import run_server  # noqa: PLC0415 -- builds on compiled code

    config, registry = read()
    return run_server(config, registry, status_fd, read_again=lambda: read()[0])
