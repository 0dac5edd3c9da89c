"""The commands of `framework` beside `serve`, and those that plugins add."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NoReturn

from typing_extensions import override

from framework.cli import (
    check,
    control,
    manual,
    new_plugin,
    plugins,
    run,
    shell_completion,
)
from framework.cli.errors import EXIT_USAGE
from framework.cli.plugin_choice import PluginChoice, add_plugin_flags
from framework.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.plugins import PluginRegistry
    from framework.spec import CommandGroup

_DESCRIPTION = "Messaging servers that speak NATS, put together out of plugins."
_SERVE_HELP = "run one server with nats-server's flags and files; `serve --help` lists them"


class _Parser(argparse.ArgumentParser):
    @override
    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, f"{self.prog}: {message}; see {self.prog} --help\n")


def run_command(words: Sequence[str], index: int | None, program: str) -> int:
    """Run the command that `words` say and return its exit status.

    Args:
        words: Behind the name of the program.
        index: Of the command among them; None when there is none.
        program: What to call ourselves.
    """
    name = None if index is None else words[index]
    choice = PluginChoice.from_words(words)
    parser = _Parser(prog=program, description=_DESCRIPTION, allow_abbrev=False)
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    parser.set_defaults(run=None, choice=choice)
    commands = parser.add_subparsers(metavar="COMMAND")
    for command in (run, check, plugins, shell_completion, manual):
        add_plugin_flags(command.add_command(commands))
    control.add_commands(commands)
    new_plugin.add_command(commands)
    commands.add_parser("serve", help=_SERVE_HELP, description=_SERVE_HELP, add_help=False)
    add_plugin_flags(parser)
    if name not in commands.choices:
        registry, groups = _add_plugin_commands(commands, choice)
        if index is not None and name in groups:
            words = [*words[: index + 1], *groups[name].words(words[index + 1 :])]
        arguments = parser.parse_args(words)
        if arguments.run is not None:
            with registry.attributing():
                return _run_plugin_command(arguments, name or "")
    else:
        arguments = parser.parse_args(words)
    if arguments.run is None:
        parser.print_help()
        return EXIT_USAGE
    exit_status: int = arguments.run(arguments)
    return exit_status


def _add_plugin_commands(
    commands: argparse._SubParsersAction[_Parser], choice: PluginChoice
) -> tuple[PluginRegistry, dict[str, CommandGroup]]:
    """Let plugins add their commands; return the groups by the names of plugins."""
    from framework.spec import CommandGroup  # noqa: PLC0415

    groups: dict[str, CommandGroup] = {}

    def group_of(plugin: str) -> CommandGroup:
        if plugin in commands.choices:
            raise PluginError(plugin, f"has commands, but `{plugin}` is a command of ours")
        text = f"commands of the plugin {plugin}"
        made = CommandGroup(commands.add_parser(plugin, help=text, description=text))
        groups[plugin] = made
        return made

    registry = choice.registry()
    registry.add_commands(group_of)
    return registry, groups


def _run_plugin_command(arguments: argparse.Namespace, plugin: str) -> int:
    exit_status = arguments.run(arguments)
    if not isinstance(exit_status, int):
        problem = f"a command returned {exit_status!r:.80}"
        raise PluginError(plugin, problem, fix="return an exit status, 0 when all went well")
    return exit_status
