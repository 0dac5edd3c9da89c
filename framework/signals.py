"""Signals of a process that runs servers: what they do, and what is held back until then."""

from __future__ import annotations

import signal
import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

HELD_SIGNALS: Final = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
ENDING_SIGNALS: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


def release_signals() -> None:
    """Deliver what was held back; call it when the handlers are in place."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {*HELD_SIGNALS, *ENDING_SIGNALS})


class SignalActions:
    """Calls actions in an event loop when signals come, until it is closed; then they do nothing.

    asyncio gives its signals back to the system when its loop ends, which then lets any thread
    that still runs end the process, and its exit code no longer says how its work went.

    Args:
        loop: Of the main thread, which this is called in.
        actions: What signals mean.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        actions: Mapping[signal.Signals, Callable[[], None]],
    ) -> None:
        self._loop, self._numbers = loop, tuple(actions)
        self._reads, self._writes = socket.socketpair()
        for end in (self._reads, self._writes):
            end.settimeout(0)
        loop.add_reader(self._reads, self._reads.recv, 4096)  # Python calls handlers on the way
        signal.set_wakeup_fd(self._writes.fileno(), warn_on_full_buffer=False)
        for number, action in actions.items():
            signal.signal(number, lambda *_, it=action: loop.call_soon_threadsafe(it))

    def close(self) -> None:
        """Ignore the signals from here on, whichever thread they reach."""
        for number in self._numbers:
            signal.signal(number, signal.SIG_IGN)
        signal.set_wakeup_fd(-1)
        self._loop.remove_reader(self._reads)
        self._reads.close()
        self._writes.close()


def default_signals() -> None:
    """Let signals end the process again, which has no handlers any more."""
    for number in (*HELD_SIGNALS, *ENDING_SIGNALS):
        signal.signal(number, signal.SIG_DFL)


def reset_signals() -> None:
    """Give a command that runs no server the signals that any Python program has."""
    release_signals()
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
