"""Signals that mean something else than an end: reload, reopen the log, lame duck mode.

By default each of them ends a process, so they are held back from the first lines of a command
that runs servers until its handlers are in place; then those that came are delivered.
"""

from __future__ import annotations

import signal
from typing import Final

HELD_SIGNALS: Final = frozenset({signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2})


def hold_signals() -> None:
    """Let signals wait that would end a process without handlers."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HELD_SIGNALS)


def release_signals() -> None:
    """Deliver what was held back; call it when the handlers are in place."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_SIGNALS)
