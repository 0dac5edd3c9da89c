"""Hold signals back until a process has handlers for them.

HUP, USR1 and USR2 mean reload, reopening the log and lame duck mode; by default each of them ends
a process. So they are held back from its first lines on, and delivered when the handlers are there.

What is imported before `hold_signals` is a time in which INT prints a traceback. So this uses what
Python has in it already: `signal` itself takes 5 ms for its enumerations.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # noqa: PLC2701 -- see above


def hold_signals() -> None:
    """Let signals wait for handlers; INT ends the process without a traceback until it has one."""
    held = {_signal.SIGHUP, _signal.SIGUSR1, _signal.SIGUSR2}
    _signal.pthread_sigmask(_signal.SIG_BLOCK, held)
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    else:  # ignored, as in what a shell script runs with `&`: it would be lost
        _signal.pthread_sigmask(_signal.SIG_BLOCK, {_signal.SIGINT})
