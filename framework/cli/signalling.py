"""`--signal`: send a running server stop, quit, reload, reopen or ldm.

Source: nats-server `signal.go`, `ProcessSignal`; its words are kept.
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from framework.cli.errors import CommandError
from framework.cli.process_name import PROCESS_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIGNALS = {
    "ldm": signal.SIGUSR2,
    "stop": signal.SIGKILL,
    "quit": signal.SIGINT,
    "term": signal.SIGTERM,
    "reopen": signal.SIGUSR1,
    "reload": signal.SIGHUP,
}

PID_FILE_BYTES_MAX = 32
"""A pid file holds one number; anything longer is not one."""


def send_signal(
    words: str,
    *,
    find_pids: Callable[[], Sequence[int]] | None = None,
    kill: Callable[[int, int], None] = os.kill,
) -> None:
    """Carry out `--signal WORDS`.

    Args:
        words: `<command>` or `<command>=<pid>`; the pid is a number, the path of a pid file, or
            the beginning of a number with `*` after it. Without a pid there must be one server.
        find_pids: Finds the servers that run; None: asks `pgrep`.
        kill: Sends a signal.

    Raises:
        CommandError: No such command, no such process, or it may not be signalled.
    """
    command, *pids = words.split("=")
    if len(pids) > 1:
        raise CommandError(f"invalid signal parameters: {' '.join(pids[1:])}")
    if command not in SIGNALS:
        raise CommandError(f'unknown signal "{command}"', f"one of {', '.join(SIGNALS)}")
    problems = []
    for pid in _targets(pids[0] if pids else "", find_pids or running_servers):
        try:
            kill(pid, SIGNALS[command])
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            problems.append(f'signal "{command}" {pid}: {reason}')
    if problems:
        raise CommandError("\n".join(problems))


def _targets(pid_words: str, find_pids: Callable[[], Sequence[int]]) -> Sequence[int]:
    expression = _from_pid_file(pid_words)
    digits = expression.removesuffix("*")
    is_glob = expression != digits
    if digits and not (digits.isascii() and digits.isdigit() and int(digits) > 0):
        # Also 0 and -1, which would reach every process there is.
        raise CommandError(f"invalid pid: {digits}", "a process id or the path of a pid file")
    if digits and not is_glob:
        return [int(digits)]
    pids = find_pids()
    if len(pids) > 1 and not is_glob:
        listed = "\n".join(str(pid) for pid in pids)
        raise CommandError(f"multiple {PROCESS_NAME} processes running:\n{listed}")
    matching = [pid for pid in pids if str(pid).startswith(digits)]
    if not matching:
        raise CommandError(
            f"no {PROCESS_NAME} processes running", "name one by --signal COMMAND=PID"
        )
    return matching


def _from_pid_file(pid_words: str) -> str:
    try:
        with Path(pid_words).open("rb") as file:
            return file.read(PID_FILE_BYTES_MAX).decode(errors="replace").strip()
    except (OSError, ValueError):  # no such file: then it is the pid itself
        return pid_words


def running_servers() -> list[int]:
    """Return the processes that are called `nats-server`, this one left out.

    Raises:
        CommandError: There is no `pgrep`.
    """
    try:
        answer = subprocess.run(  # noqa: S603 -- no word of it comes from outside
            ("/usr/bin/env", "pgrep", "-x", PROCESS_NAME),
            capture_output=True,
            check=False,
            text=True,
        )
        pids = [int(line) for line in answer.stdout.split()]
    except (OSError, ValueError):
        answer, pids = None, []
    if answer is None or answer.returncode not in {0, 1}:  # 1: none found
        raise CommandError("unable to resolve pid, try providing one")
    return [pid for pid in pids if pid != os.getpid()]
