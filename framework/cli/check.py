"""`framework check`: check a topology and show what follows from it, without starting it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from framework.cli.errors import EXIT_OK
from framework.cli.topologies import check_start_files, load_topology
from framework.topology import explain_topology

if TYPE_CHECKING:
    import argparse

_HELP = "check a topology or a configuration file, and explain it without starting anything"


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
) -> argparse.ArgumentParser:
    """Add the command and return its parser."""
    parser = commands.add_parser("check", help=_HELP, description=_HELP, allow_abbrev=False)
    parser.add_argument("file", metavar="FILE", help="a topology (.toml, .hocon) or a .conf file")
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Explain the file and return the exit status; whatever is wrong with it is raised."""
    topology, _ = load_topology(arguments.file, arguments.choice)
    check_start_files([plan.config for plan in topology.servers])
    sys.stdout.write(explain_topology(topology))
    return EXIT_OK
