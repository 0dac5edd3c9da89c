"""Actors on a small pool of threads: for programs without a loop."""

from __future__ import annotations

import logging
import random
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from framework.actors.errors import BlockingCallError
from framework.actors.limits import BLOCKING_THREADS_MAX
from framework.actors.reply import wait_in_thread
from framework.actors.timer import Timer, TimerQueue
from framework.actors.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable

    import pykka

    from framework.actors.reply import Reply

_log = logging.getLogger(__name__)  # noqa: TID251 - a server carries its records to its own log


class PoolDispatcher:
    """Runs turns in threads of its own; one actor's turns still come one after the other.

    More threads do not make it faster, since the interpreter runs one at a time.

    Args:
        threads_max: Threads for turns; at least 1.
        rng: Randomness for the actors; by default seeded by the system.
    """

    def __init__(self, threads_max: int = 2, *, rng: random.Random | None = None) -> None:
        self.rng = rng or random.Random()  # noqa: S311 -- for jitter and choices, not for secrets
        self.observe: Callable[[pykka.ActorRef[Any], object], None] | None = None
        self._here = threading.local()
        self._turns = Workers(threads_max, "turns")
        self._blocking = Workers(BLOCKING_THREADS_MAX, "blocking")
        self._timers = TimerQueue()
        self._clock = Workers(1, "clock")
        self._changed = threading.Condition()
        self._is_closed = False
        self._is_clock_running = False
        # Others keep their order by one thread; actors' turns go to all.
        self._ordered = Workers(1, "ordered")

    @property
    def timer_count(self) -> int:
        """How many timers will still fire."""
        return len(self._timers)

    def now_ns(self) -> int:
        """Return the system's monotonic time."""
        return time.monotonic_ns()

    def call_soon(self, turn: Callable[[], None], /) -> None:
        """Run `turn` in the thread that keeps the order."""
        self._ordered.submit(partial(self._run, turn))

    def dispatch(self, turn: Callable[[], None], /) -> None:
        """Run an actor's turn in one of the threads."""
        self._turns.submit(partial(self._run, turn))

    def call_later(self, delay_s: float, turn: Callable[[], None], /) -> Timer:
        """Run `turn` after `delay_s` seconds."""
        timer = Timer(self._timers, self._arm, turn)
        self._arm(timer, delay_s)
        return timer

    def run_blocking(self, work: Callable[[], None], /) -> None:
        """Run `work` in a thread that has no turns."""
        self._blocking.submit(work)

    def wait_for(self, reply: Reply[Any], timeout_s: float | None, /) -> None:
        """Block a thread that has no turns."""
        if getattr(self._here, "is_in_turn", False):
            raise BlockingCallError("a turn must not wait for others: be told")
        wait_in_thread(reply, timeout_s)

    def close(self, timeout_s: float = 1.0) -> bool:
        """Drop all timers and end all threads; return whether they ended in time."""
        self._timers.clear()
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        pools = (self._clock, self._ordered, self._turns, self._blocking)
        ended = [pool.close(timeout_s) for pool in pools]
        return all(ended)

    def _run(self, turn: Callable[[], None]) -> None:
        self._here.is_in_turn = True
        try:
            turn()
        except Exception as error:  # noqa: BLE001 -- the thread must live on for other turns
            _log.error("turn failed", exc_info=error)

    def _arm(self, timer: Timer, delay_s: float) -> None:
        assert delay_s >= 0
        if self._timers.arm(timer, self.now_ns() + int(delay_s * 1e9)):
            with self._changed:
                if not self._is_clock_running:
                    self._is_clock_running = True
                    self._clock.submit(self._keep_time)
                self._changed.notify()

    def _keep_time(self) -> None:
        while True:
            now_ns = self.now_ns()
            while (turn := self._timers.pop_due(now_ns)) is not None:
                self.call_soon(turn)
            with self._changed:
                if self._is_closed:
                    return
                due_ns = self._timers.next_due_ns()
                if due_ns is None or due_ns > now_ns:
                    self._changed.wait(None if due_ns is None else (due_ns - now_ns) / 1e9)
