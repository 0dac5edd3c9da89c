"""Entry point: find the command, parse its flags."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

from framework.cli.errors import EXIT_OK, guarded
from framework.signals import reset_signals

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "framework"
ALIAS = "nats-server"

_FLAGS_WITH_VALUE = ("--plugin", "--no-plugin", "--plugins-dir")
_VERSION_WORDS = ("-v", "--v", "-version", "--version", "version")


def main(argv: Sequence[str] | None = None) -> int:
    """Run `framework` and return its exit status.

    Args:
        argv: Words behind the name of the program; None: those of this process.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    return guarded(PROGRAM, lambda: _dispatch(words))


def nats_server_main(argv: Sequence[str] | None = None) -> int:
    """Run `nats-server` and return its exit status: `framework serve` under its other name.

    Args:
        argv: Words behind the name of the program; None: those of this process.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    return guarded(ALIAS, lambda: _serve(words, ALIAS))


def _dispatch(words: list[str]) -> int:
    if words in (["--version"], ["-v"]):
        from framework import __version__  # noqa: PLC0415

        sys.stdout.write(f"{PROGRAM} {__version__}\n")
        return EXIT_OK
    index = _command_index(words)
    name = None if index is None else words[index]
    if name not in {"run", "serve"}:
        reset_signals()
    if index is not None and name == "serve":  # its flags are nats-server's own
        return _serve([*words[:index], *words[index + 1 :]], f"{PROGRAM} serve")
    from framework.cli.commands import run_command  # noqa: PLC0415

    return run_command(words, index, PROGRAM)


def _command_index(words: list[str]) -> int | None:
    """Return where the name of the command stands; flags that choose plugins may come before."""
    is_value = False
    for index, word in enumerate(words):
        if not is_value and not word.startswith("-"):
            return index
        is_value = not is_value and word in _FLAGS_WITH_VALUE
    return None


def _serve(words: list[str], program: str) -> int:
    if len(words) == 1 and words[0] in _VERSION_WORDS:  # asked often, and needs no plugin
        from framework.cli.version import print_server_version  # noqa: PLC0415

        return print_server_version()
    gc.disable()  # until the server is up: what a start makes stays
    from framework.cli.serve import serve  # noqa: PLC0415

    return serve(words, program)
