"""`framework reload`, `drain`, `stop` and `start`: ask the servers that `framework run` runs."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from framework.cli.errors import EXIT_OK, EXIT_REFUSED

if TYPE_CHECKING:
    import argparse

_HELP = {
    "reload": "let servers that run read their configuration again",
    "drain": "send the clients of servers elsewhere; the servers stop and stay down",
    "stop": "stop servers; with the last one `framework run` ends",
    "start": "start servers again that were stopped, drained or have failed",
}


def add_commands(
    commands: argparse._SubParsersAction[Any],
) -> None:
    """Add the commands."""
    for verb, text in _HELP.items():
        parser = commands.add_parser(verb, help=text, description=text, allow_abbrev=False)
        parser.add_argument("file", metavar="FILE", help="what `framework run` was given")
        parser.add_argument("--server", metavar="NAME", help="only this one")
        parser.set_defaults(run=partial(run, verb))


def run(verb: str, arguments: argparse.Namespace) -> int:
    """Ask, write what each server answers, and return the exit status: 1 when one refuses."""
    from framework.supervise import Question, Verb, ask_servers  # noqa: PLC0415

    exit_status = EXIT_OK
    for answer in ask_servers(arguments.file, Question(Verb(verb), arguments.server)):
        stream = sys.stdout if answer.ok else sys.stderr
        stream.write(f"{answer.server} {answer.text}\n")
        if not answer.ok:
            exit_status = EXIT_REFUSED
    return exit_status
