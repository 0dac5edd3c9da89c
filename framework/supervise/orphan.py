"""Stop a server when its supervisor is gone."""

from __future__ import annotations

import os
import select
import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ORPHAN_STOP_DEADLINE_S = 10.0
"""From SIGTERM to SIGKILL of a server whose supervisor is gone."""


def stop_with_supervisor(
    channel_fd: int,
    *,
    deadline_s: float = ORPHAN_STOP_DEADLINE_S,
    signal_self: Callable[[int], None] | None = None,
) -> threading.Thread:
    """Begin to watch `channel_fd`: when its other end closes, this process stops.

    The kernel closes that end however the supervisor dies, SIGKILL included. A thread watches it,
    and not the event loop, so that a server that hangs is ended as well.

    Args:
        channel_fd: The number after `--status-fd`.
        deadline_s: For an orderly stop.
        signal_self: Sends a signal to this process; None: the real thing.

    Returns:
        The thread, a daemon, already started.
    """
    send = signal_self or (lambda number: os.kill(os.getpid(), number))

    def watch() -> None:
        poll = select.poll()
        poll.register(channel_fd, select.POLLIN)
        poll.poll()
        while _is_open(channel_fd):
            poll.poll()
        send(signal.SIGTERM)
        threading.Event().wait(deadline_s)
        send(signal.SIGKILL)

    thread = threading.Thread(target=watch, name="orphan-watch", daemon=True)
    thread.start()
    return thread


def _is_open(channel_fd: int) -> bool:
    try:
        return os.read(channel_fd, 1024) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
