"""Errors of the command line: one line a problem, never a traceback."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from framework.errors import FrameworkError

if TYPE_CHECKING:
    from collections.abc import Callable

EXIT_OK = 0
EXIT_REFUSED = 1
"""The world is not as the command needs it; the text says what to change."""
EXIT_USAGE = 2
EXIT_BUG = 70
"""Our fault, not the user's; `EX_SOFTWARE` of sysexits."""
EXIT_INTERRUPTED = 130

DEBUG_VARIABLE = "FRAMEWORK_DEBUG"


class CommandError(FrameworkError):
    """A command can't be carried out.

    Args:
        problem: What is wrong.
        fix: What the user can do about it; empty when the problem says it.
    """

    def __init__(self, problem: str, fix: str = "") -> None:
        super().__init__(f"{problem}: {fix}" if fix else problem)


def guarded(program: str, command: Callable[[], int]) -> int:
    """Run a command, and turn what it raises into text on stderr and an exit status.

    With `FRAMEWORK_DEBUG=1` in the environment the traceback is shown as well.

    Args:
        program: What each line begins with.
        command: Returns its exit status.
    """
    if not __debug__:
        complain(
            program, "does not run under python -O: its assertions are part of it; drop the -O"
        )
        return EXIT_REFUSED
    try:
        exit_status = command()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away, as `| head` does; Python would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_REFUSED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 -- the last resort: a bug must not look like a crash
        if os.environ.get(DEBUG_VARIABLE, "0") not in {"", "0"}:
            import traceback  # noqa: PLC0415 -- rarely needed

            traceback.print_exc()
        text, exit_status = _diagnosis(error)
        complain(program, text)
    return exit_status


def complain(program: str, text: str) -> None:
    """Write a problem, each of its lines with the program before it, to stderr."""
    for line in text.splitlines() or [""]:
        sys.stderr.write(f"{program}: {line}\n")


def _diagnosis(error: Exception) -> tuple[str, int]:
    match error:
        case FrameworkError():
            return str(error), EXIT_REFUSED
        case OSError():
            return _os_error_text(error), EXIT_REFUSED
        case _:
            text = f"internal error: {type(error).__name__}: {error}"
            return f"{text}; please report it with {DEBUG_VARIABLE}=1", EXIT_BUG


def _os_error_text(error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    return f"{error.filename}: {reason}" if error.filename else reason
