"""Subcommands that a plugin adds to `framework`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence


class CommandGroup:
    """The subcommands of one plugin, which stand under the plugin's name.

    Args:
        parser: Parser of the command that is named after the plugin.
    """

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
        self._default = ""

    def words(self, given: Sequence[str]) -> list[str]:
        """Return words behind the plugin's name, with that of the default command if none is."""
        is_named = not given or given[0] in {"-h", "--help", *self._subparsers.choices}
        return [*given] if is_named or not self._default else [self._default, *given]

    def add_command(
        self,
        name: str,
        run: Callable[[argparse.Namespace], int],
        *,
        help: str,  # noqa: A002
        is_default: bool = False,
    ) -> argparse.ArgumentParser:
        """Add `framework PLUGIN NAME` and return its parser, for the command's arguments.

        Args:
            name: One word.
            run: Does the work and returns the exit code; found as `run` in the parsed arguments.
            help: One line without a full stop.
            is_default: What is meant where the first word is the name of no command.
        """
        if is_default:
            self._default = name
        parser = self._subparsers.add_parser(name, help=help, description=help)
        parser.set_defaults(run=run)
        return parser
