"""`framework plugins`: list loaded plugins, where they come from, and their hooks."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from framework.cli.errors import EXIT_OK

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from framework.cli.plugin_choice import PluginChoice
    from framework.plugins import LoadedPlugin, PluginRegistry

_HELP = "list the plugins that are loaded"


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
) -> argparse.ArgumentParser:
    """Add the command and return its parser."""
    parser = commands.add_parser("plugins", help=_HELP, description=_HELP, allow_abbrev=False)
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="a topology, for the plugins that it lists"
    )
    parser.add_argument("--json", action="store_true", help="write a JSON document")
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """List the plugins and return the exit status."""
    registry = _registry(arguments.file, arguments.choice)
    if arguments.json:
        rows = [_row(plugin) for plugin in registry.plugins]
        sys.stdout.write(f"{json.dumps({'plugins': rows}, indent=2)}\n")
        return EXIT_OK
    lines = [line for plugin in registry.plugins for line in _lines(plugin)]
    absent = [
        f"{name}: not installed; pip install 'framework[standard]'" for name in registry.absent
    ]
    text = "\n".join([*(lines or ["no plugin is loaded; the core runs alone"]), *absent])
    sys.stdout.write(f"{text}\n")
    return EXIT_OK


def _registry(file: str | None, choice: PluginChoice) -> PluginRegistry:
    if file is None:
        return choice.registry()
    from framework.topology import open_topology  # noqa: PLC0415

    return choice.registry(open_topology(file).plugins)


def _row(plugin: LoadedPlugin) -> dict[str, object]:
    return {
        "name": plugin.name,
        "version": plugin.version,
        "origin": plugin.origin,
        "file": plugin.file,
        "hooks": plugin.hooks,
    }


def _lines(plugin: LoadedPlugin) -> Iterator[str]:
    yield f"{plugin.name}: {plugin.origin}"
    if plugin.file:
        yield f"  file   {plugin.file}"
    for index, hook in enumerate(plugin.hooks):
        yield f"  {'' if index else 'hooks':<6} {hook}"
