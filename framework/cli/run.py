"""`framework run`: run the servers of a topology, each in its own process."""

from __future__ import annotations

import argparse
import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from framework.cli.errors import CommandError
from framework.cli.process_name import name_process
from framework.cli.topologies import load_topology

if TYPE_CHECKING:
    from framework.cli.plugin_choice import PluginChoice
    from framework.plugins import PluginRegistry
    from framework.topology import ServerConfig, Topology

_HELP = "run the servers of a topology"


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
) -> argparse.ArgumentParser:
    """Add the command and return its parser."""
    parser = commands.add_parser("run", help=_HELP, description=_HELP, allow_abbrev=False)
    parser.add_argument(
        "file", metavar="FILE", help="a topology (.toml, .hocon, .json) or a .conf file"
    )
    parser.add_argument("--server", metavar="NAME", help="run only this one, in this process")
    parser.add_argument(
        "--log-dir", metavar="DIR", type=Path, help="write a log file for each server there"
    )
    # For the supervisor: the channel on which one server reports, and where its log goes.
    parser.add_argument("--status-fd", metavar="N", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--stderr-file", metavar="PATH", type=Path, help=argparse.SUPPRESS)
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Run what the arguments say until it is stopped, and return the exit status."""
    choice: PluginChoice = arguments.choice
    if arguments.server is not None:
        return _run_one(arguments, choice)
    topology, registry = load_topology(arguments.file, choice)
    _name_variables(topology)
    from framework.supervise import ServerCommand, run_servers  # noqa: PLC0415

    commands = [
        ServerCommand(plan.name, server_command(arguments.file, plan.name, choice))
        for plan in topology.servers
    ]
    with registry.attributing():
        processes = registry.topology_processes(topology)
    return run_servers(
        [
            *commands,
            *(ServerCommand(it.name, it.arguments, it.start_deadline_s) for it in processes),
        ],
        title=topology.name,
        file=arguments.file,
        log_folder=arguments.log_dir,
        stdout=sys.stdout,
        stderr=sys.stderr,
        sections=registry.status_sections(),
    )


def _name_variables(topology: Topology) -> None:
    """Say which texts of the file are not what they look like."""
    if topology.variables:
        names = ", ".join(sorted({place.variable for place in topology.variables}))
        sys.stderr.write(f"framework: {topology.file}: read from the environment: {names}\n")


def server_command(file: str, server: str, choice: PluginChoice) -> tuple[str, ...]:
    """Return the words that run one server of a topology with this very Python."""
    # `-m` puts the working folder before the installed packages, unless we were started so too.
    is_here = {"", str(Path.cwd())} & set(sys.path)
    flags = () if is_here else ("-P",)
    words = ("-m", "framework", "run", file, "--server", server, *choice.words())
    return (sys.executable, *flags, *words)


def _run_one(arguments: argparse.Namespace, choice: PluginChoice) -> int:
    gc.disable()  # until the server is up: what a start makes stays
    name_process()
    file, name = arguments.file, arguments.server
    if arguments.status_fd is not None:
        from framework.supervise import stop_with_supervisor  # noqa: PLC0415

        stop_with_supervisor(arguments.status_fd)

    def read() -> tuple[ServerConfig, PluginRegistry]:
        topology, registry = load_topology(file, choice)
        plan = topology.server(name)
        if plan is None:
            names = ", ".join(plan.name for plan in topology.servers)
            raise CommandError(f'{file} has no server "{name}"', f"it has {names}")
        if arguments.status_fd is None:  # else the supervisor has said it
            _name_variables(topology)
        return plan.config, registry

    from framework.server import run_server  # noqa: PLC0415 -- builds on compiled code

    config, registry = read()
    with registry.attributing():
        return run_server(
            config,
            registry,
            arguments.status_fd,
            stderr_file=arguments.stderr_file,
            read_again=lambda: read()[0],
        )
