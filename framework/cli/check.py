"""`framework check`: check a topology and show what follows from it, without starting it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from framework.cli.errors import EXIT_OK, EXIT_REFUSED
from framework.cli.policies import differing_policies
from framework.cli.topologies import check_start_files, load_topology
from framework.errors import FrameworkError
from framework.topology import (
    TopologyError,
    TopologyErrors,
    explain_topology,
    topology_document,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from framework.topology import Topology

_HELP = "check a topology or a configuration file, and explain it without starting anything"


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
) -> argparse.ArgumentParser:
    """Add the command and return its parser."""
    parser = commands.add_parser("check", help=_HELP, description=_HELP, allow_abbrev=False)
    parser.add_argument(
        "file", metavar="FILE", help="a topology (.toml, .hocon, .json) or a .conf file"
    )
    parser.add_argument("--json", action="store_true", help="write a JSON document")
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Explain the file and return the exit status; whatever is wrong with it is raised.

    With `--json` that is a part of the document: whoever reads it gets one in either case.
    """
    if arguments.json:
        return _write_document(arguments)
    topology, warnings = _read(arguments)
    sys.stdout.write(explain_topology(topology))
    for warning in warnings:
        sys.stderr.write(f"warning: {warning}\n")
    return EXIT_OK


def _read(arguments: argparse.Namespace) -> tuple[Topology, list[TopologyError]]:
    topology, registry = load_topology(arguments.file, arguments.choice)
    check_start_files([plan.config for plan in topology.servers])
    return topology, [*_read_variables(topology), *differing_policies(topology, registry.plugins)]


def _write_document(arguments: argparse.Namespace) -> int:
    exit_status = EXIT_OK
    try:
        topology, warnings = _read(arguments)
        document = {"valid": True, **topology_document(topology), "warnings": _rows(warnings)}
    except FrameworkError as error:
        document = {"valid": False, "errors": _error_rows(error)}
        exit_status = EXIT_REFUSED
    sys.stdout.write(f"{json.dumps(document, indent=2)}\n")
    return exit_status


def _read_variables(topology: Topology) -> list[TopologyError]:
    """Return what is right, and may be meant otherwise: a text that was one in old files."""
    return [
        TopologyError(
            place._replace(variable=""),
            f"{place.variable} is read from the environment",
            f"write ${place.variable} if the text is meant",
        )
        for place in topology.variables
    ]


def _error_rows(error: FrameworkError) -> list[dict[str, object]]:
    if not isinstance(error, TopologyErrors):
        return [{"problem": str(error)}]
    return _rows(error.errors)


def _rows(errors: Iterable[TopologyError]) -> list[dict[str, object]]:
    return [
        {
            "file": it.place.file,
            "line": it.place.line,
            "column": it.place.column,
            "key": it.place.key,
            "problem": it.problem,
            "fix": it.fix,
        }
        for it in errors
    ]
