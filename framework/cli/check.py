"""`framework check`: everything that a topology says and what follows from it; nothing starts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from framework.cli.errors import EXIT_OK
from framework.cli.topologies import load_topology
from framework.topology import Node
from framework.topology.units import without_password

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from framework.plugins import PluginRegistry
    from framework.topology import ServerConfig, ServerPlan, Topology

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
    topology, registry = load_topology(arguments.file, arguments.choice)
    for line in _explain(topology, registry):
        sys.stdout.write(f"{line}\n")
    return EXIT_OK


def _explain(topology: Topology, registry: PluginRegistry) -> Iterator[str]:
    plugins = ", ".join(plugin.name for plugin in registry.plugins) or "none"
    yield f"{topology.file} is valid: {topology.name}, plugins {plugins}"
    for plan in topology.servers:
        yield ""
        yield from _explain_server(plan)


def _explain_server(plan: ServerPlan) -> Iterator[str]:
    yield f"server {plan.name}" + (f" of cluster {plan.cluster}" if plan.cluster else "")
    rows = [
        (path, _shown(plan.config, path), str(place))
        for path, place in sorted(plan.config.places.items())
        if not isinstance(_value(plan.config, path), Mapping)
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    for path, value, place in rows:
        yield f"  {path:<{widths[0]}}  {value:<{widths[1]}}  {place}"


def _value(config: ServerConfig, path: str) -> object:
    value: object = config.values
    for name in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def _shown(config: ServerConfig, path: str) -> str:
    option = config.schema.option(path)
    value = _value(config, path)
    if option is not None and option.secret:
        return "***"
    match value:
        case bool():
            return "true" if value else "false"
        case (str() as host, int() as port):
            return f"{host}:{port}"
        case tuple():
            return ", ".join(without_password(str(item)) for item in value)
        case Node():  # only its plugin can read it, and knows what in it is secret
            return "a block"
        case _:
            return without_password(str(value))
