"""How this process ends: at once when its work is done, unless it has to wait for threads."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from importlib import import_module
from typing import NoReturn

_is_ours = False
_last_line: tuple[int, bytes] | None = None


def take_over() -> None:
    """Promise that the process ends by `end_now`, so that last words may wait for it."""
    global _is_ours  # noqa: PLW0603 -- there is one process
    _is_ours = True


def ends_at_once() -> bool:
    """Return whether no thread but the main one keeps the process from ending."""
    others = (it for it in threading.enumerate() if it is not threading.main_thread())
    return all(thread.daemon for thread in others)


def leave_last_line(fd: int, line: bytes) -> bool:
    """Have a line written when nothing is left to do; return False if nobody would.

    Args:
        fd: Where it goes, also when it is closed meanwhile.
        line: Of at most 4,096 bytes.
    """
    global _last_line  # noqa: PLW0603
    if not _is_ours or not ends_at_once():
        return False
    try:
        _last_line = os.dup(fd), line
    except OSError:  # nobody reads it
        return False
    return True


def end_now(exit_status: int) -> NoReturn:
    """End the process; who reads its last line finds it gone, its memory given back already."""
    if _last_line is not None:
        if _is_alone():
            # Not by a statement: rules of imports know Python alone, and would see the package.
            release = import_module("framework._release")
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            release.release_and_exit(*_last_line, exit_status)
        with contextlib.suppress(OSError):
            os.write(*_last_line)
    os._exit(exit_status)


def _is_alone() -> bool:
    """Tell whether nobody, thread or library that watches the process, needs its memory."""
    if sys.platform != "linux" or "LD_PRELOAD" in os.environ:
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1  # noqa: PTH208 -- pathlib is slower
    except OSError:
        return False
