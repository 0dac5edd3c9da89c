"""Signals of a process that runs servers, before its handlers are in place.

HUP, USR1 and USR2 mean reload, reopening the log and lame duck mode; by default each of them ends
a process. So they are held back from its first lines on, and delivered when the handlers are there.
"""

from __future__ import annotations

import signal
from typing import Final

HELD_SIGNALS: Final = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
ENDING_SIGNALS: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


def hold_signals() -> None:
    """Let signals wait for handlers; INT ends the process without a traceback until it has one."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HELD_SIGNALS)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    else:  # ignored, as in what a shell script runs with `&`: it would be lost
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def release_signals() -> None:
    """Deliver what was held back; call it when the handlers are in place."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {*HELD_SIGNALS, *ENDING_SIGNALS})


def hold_all_signals() -> None:
    """Let none end a process whose work is done: its exit code says how that went."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {*HELD_SIGNALS, *ENDING_SIGNALS})


def reset_signals() -> None:
    """Give a command that runs no server the signals that any Python program has."""
    release_signals()
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
