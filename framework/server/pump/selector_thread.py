"""A thread that waits for sockets and timers, and runs callbacks for other threads."""

from __future__ import annotations

import contextlib
import heapq
import os
import selectors
import threading
import time
from collections import deque
from itertools import count
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    class HasFileno(Protocol):
        """A socket, or anything else with `fileno`."""

        def fileno(self) -> int:
            """Return its descriptor."""
            ...


class Alarm:
    """A timer that can be cancelled."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], None]) -> None:
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        """Do it no more."""
        self.action = None


class SelectorThread:
    """Run callbacks of sockets in a thread of its own.

    `call` and `stop` are for any thread, all else for callbacks.

    Args:
        name: Of the thread.
        failed: Told of an exception that no callback should raise; the thread goes on.
    """

    def __init__(self, name: str, *, failed: Callable[[BaseException], None]) -> None:
        self._failed = failed
        self._selector = selectors.DefaultSelector()
        self._calls: deque[Callable[[], None]] = deque()
        self._alarms: list[tuple[float, int, Alarm]] = []
        self._alarm_numbers = count()
        self._wake_reader, self._wake_writer = os.pipe()
        for fd in (self._wake_reader, self._wake_writer):
            os.set_blocking(fd, False)
        self._selector.register(self._wake_reader, selectors.EVENT_READ, self._drain_wakes)
        self._stopping = self._has_stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin; once."""
        self._thread.start()

    def stop(self, deadline_s: float) -> bool:
        """End the thread; return False when it has not ended in time and is left."""
        if self._has_stopped:
            return True
        if self._thread.is_alive():
            self.call(self.wind_up)
            self._thread.join(deadline_s)
            if self._thread.is_alive():
                return False
        self._selector.close()
        os.close(self._wake_reader)
        os.close(self._wake_writer)
        self._has_stopped = True
        return True

    def call(self, action: Callable[[], None]) -> None:
        """Let the thread do something soon, in the order of the calls."""
        self._calls.append(action)
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_writer, b"c")

    def watch(self, sock: HasFileno, events: int, action: Callable[[], None]) -> None:
        """Call `action` when a socket is ready for `events`; 0: watch it no more."""
        # Asked by number: an error for a socket has all of its addresses in its text, for 20 us.
        fd = sock.fileno()
        is_watched = fd in self._selector.get_map() if fd >= 0 else not events
        if not is_watched:
            if events:
                self._selector.register(sock, events, action)
        elif events:
            self._selector.modify(sock, events, action)
        else:
            with contextlib.suppress(KeyError):  # it is closed, and was not watched
                self._selector.unregister(sock)

    def call_later(self, delay_s: float, action: Callable[[], None]) -> Alarm:
        """Call `action` when `delay_s` seconds have passed."""
        alarm = Alarm(action)
        due_s = time.monotonic() + delay_s  # noqa: TID251 - sockets have real time
        heapq.heappush(self._alarms, (due_s, next(self._alarm_numbers), alarm))
        return alarm

    def wind_up(self) -> None:
        """Begin to end; a subclass may wait for what is under way, and calls `end` then."""
        self.end()

    def end(self) -> None:
        """End after this turn."""
        self._stopping = True

    def abandon_all(self) -> None:
        """Close whatever is still open; the last thing that the thread does."""

    def _run(self) -> None:
        while not self._stopping:
            for key, _ in self._selector.select(self._wait_s()):
                self._perform(key.data)
            while self._calls:
                self._perform(self._calls.popleft())
            self._ring()
        self._perform(self.abandon_all)

    def _perform(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - one connection must not end the others
            self._failed(error)

    def _wait_s(self) -> float | None:
        while self._alarms and self._alarms[0][2].action is None:
            heapq.heappop(self._alarms)
        if not self._alarms:
            return None
        return max(0.0, self._alarms[0][0] - time.monotonic())  # noqa: TID251

    def _ring(self) -> None:
        now_s = time.monotonic()  # noqa: TID251
        while self._alarms and self._alarms[0][0] <= now_s:
            alarm = heapq.heappop(self._alarms)[2]
            if alarm.action is not None:
                self._perform(alarm.action)

    def _drain_wakes(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_reader, 4096)
