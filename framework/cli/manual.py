"""`framework man`: the manual page of nats-server, made from its options.

Source: man-pages(7), for the sections and their order.
"""

from __future__ import annotations

import sys
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from framework.cli.errors import EXIT_OK

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from framework.topology.flags import FlagHelp

_HELP = "print the manual page of nats-server: framework man | man -l -"

_SIGNALS = {
    "HUP": "Read the configuration again.",
    "USR1": "Open the log file anew, after it was moved away.",
    "USR2": "Lame duck mode: send clients elsewhere, then stop.",
    "INT, QUIT, TERM": "Stop.",
}


def add_command(commands: argparse._SubParsersAction[Any]) -> argparse.ArgumentParser:
    """Add the command and return its parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "man", help=_HELP, description=_HELP, allow_abbrev=False
    )
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Print the page and return the exit status."""
    from framework import __version__  # noqa: PLC0415
    from framework.topology import Schema  # noqa: PLC0415
    from framework.topology.flags import known_flags  # noqa: PLC0415

    flags = list(known_flags(Schema(arguments.choice.registry().config_sections())))
    sys.stdout.write("\n".join(_page(flags, __version__)) + "\n")
    return EXIT_OK


def _page(flags: Sequence[FlagHelp], version: str) -> Iterator[str]:
    yield f'.TH NATS-SERVER 1 "" "framework {version}"'
    yield ".SH NAME\nnats-server \\- messaging server that speaks NATS"
    yield ".SH SYNOPSIS\n.B nats-server\n.RI [ flags ]"
    yield ".br\n.B framework serve\n.RI [ flags ]"
    yield ".SH DESCRIPTION"
    yield "One server, told by flags and by a configuration file; flags win."
    yield "It runs in the foreground and logs to standard error."
    yield ".SH OPTIONS\nA flag takes one dash or two."
    for group, members in groupby(flags, key=attrgetter("group")):
        yield f".SS {_escaped(group)}"
        for flag in members:
            names = ", ".join(f"\\fB\\-{_escaped(name)}\\fR" for name in flag.names)
            yield f".TP\n{names}" + (f" \\fI{_escaped(flag.metavar)}\\fR" if flag.metavar else "")
            yield _escaped(flag.help)
    yield ".SH SIGNALS"
    for names, text in _SIGNALS.items():
        yield f".TP\n.B {names}\n{text}"
    yield ".SH EXIT STATUS\n.TP\n.B 0\nStopped when told to.\n.TP\n.B 1\nRefused or failed."
    yield ".SH ENVIRONMENT\n.TP\n.B NOTIFY_SOCKET"
    yield "Where a service manager is told; see sd_notify(3)."
    yield ".SH SEE ALSO\n.BR systemd.service (5)"


def _escaped(text: str) -> str:
    """Return text for troff: no backslash, hyphen or leading dot means anything."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
