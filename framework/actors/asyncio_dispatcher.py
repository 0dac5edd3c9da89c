"""Actors in an asyncio loop: production."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import pykka

from framework.actors.errors import BlockingCallError
from framework.actors.limits import BLOCKING_THREADS_MAX, TURN_NS_MAX, TURNS_IN_A_ROW_MAX
from framework.actors.reply import Reply, wait_in_thread
from framework.actors.timer import Timer, TimerQueue
from framework.actors.workers import Workers


class AsyncioDispatcher:
    """Runs turns in the thread of one loop, many between two looks at its sockets.

    Args:
        loop: By default the one that runs.
        rng: Randomness for the actors; by default seeded by the system.
        report_slow: Told of a turn that held the loop for more than `TURN_NS_MAX`: whose it was,
            and nanoseconds.
        clock_ns: By which turns are timed.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop | None = None,
        *,
        rng: random.Random | None = None,
        report_slow: Callable[[str, int], None] = lambda _name, _held_ns: None,
        clock_ns: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._loop = loop or asyncio.get_running_loop()
        self.rng = rng or random.Random()  # noqa: S311 -- for jitter and choices, not for secrets
        self.observe: Callable[[pykka.ActorRef[Any], object], None] | None = None
        self._report_slow = report_slow
        self._clock_ns = clock_ns
        self._thread_id = threading.get_ident() if self._is_in_loop() else None
        self._turns: deque[Callable[[], None]] = deque()
        self._is_drain_coming = False
        self._timers = TimerQueue()
        self._alarm: asyncio.TimerHandle | None = None
        self._workers = Workers(BLOCKING_THREADS_MAX, "blocking")

    @property
    def timer_count(self) -> int:
        """How many timers will still fire."""
        return len(self._timers)

    def now_ns(self) -> int:
        """Return the loop's time."""
        return int(self._loop.time() * 1e9)

    def call_soon(self, turn: Callable[[], None], /) -> None:
        """Run `turn` in the loop's thread."""
        self._turns.append(turn)
        if not self._is_drain_coming:
            self._is_drain_coming = True
            self._call_in_loop(self._drain)

    dispatch = call_soon

    def call_later(self, delay_s: float, turn: Callable[[], None], /) -> Timer:
        """Run `turn` in the loop's thread after `delay_s` seconds."""
        timer = Timer(self._timers, self._arm, turn)
        self._arm(timer, delay_s)
        return timer

    def run_blocking(self, work: Callable[[], None], /) -> None:
        """Run `work` in a worker thread."""
        self._workers.submit(work)

    def wait_for(self, reply: Reply[Any], timeout_s: float | None, /) -> None:
        """Block a thread that is not the loop's."""
        if self._is_in_loop():
            raise BlockingCallError(
                "the loop that would answer must not wait: await it, or be told"
            )
        wait_in_thread(reply, timeout_s)

    def close(self, timeout_s: float = 1.0) -> bool:
        """Drop all timers and end the worker threads; return whether they ended in time."""
        self._timers.clear()
        if self._alarm is not None:
            self._alarm.cancel()
        return self._workers.close(timeout_s)

    def _drain(self) -> None:
        self._thread_id = threading.get_ident()
        self._is_drain_coming = False
        turns = self._turns
        # The end of a turn is the beginning of the next: each costs one look at the clock, 80 ns.
        clock = self._clock_ns
        began_ns = clock()
        try:
            for _ in range(TURNS_IN_A_ROW_MAX):
                if not turns:
                    break
                turn = turns.popleft()
                turn()
                now_ns = clock()
                if now_ns - began_ns > TURN_NS_MAX:
                    self._report_slow(str(getattr(turn, "__self__", turn)), now_ns - began_ns)
                began_ns = now_ns
        finally:  # a turn that raised goes to the loop's exception handler; the others go on
            if turns and not self._is_drain_coming:
                self._is_drain_coming = True
                self._loop.call_soon(self._drain)

    def _arm(self, timer: Timer, delay_s: float) -> None:
        assert delay_s >= 0
        if self._timers.arm(timer, self.now_ns() + int(delay_s * 1e9)):
            self._call_in_loop(self._set_alarm)

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        due_ns = self._timers.next_due_ns()
        if due_ns is not None:
            self._alarm = self._loop.call_at(due_ns / 1e9, self._ring)

    def _ring(self) -> None:
        now_ns = self.now_ns()
        while (turn := self._timers.pop_due(now_ns)) is not None:
            self.call_soon(turn)
        self._set_alarm()

    def _call_in_loop(self, turn: Callable[[], None]) -> None:
        if threading.get_ident() == self._thread_id:
            self._loop.call_soon(turn)
        else:
            with contextlib.suppress(
                RuntimeError
            ):  # the loop has closed: nothing runs there any more
                self._loop.call_soon_threadsafe(turn)

    def _is_in_loop(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False
