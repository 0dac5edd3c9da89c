"""Actors in virtual time, from a seed: one seed, one history."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any

import pykka

from framework.actors.errors import BlockingCallError
from framework.actors.history import History
from framework.actors.reply import Reply
from framework.actors.timer import Timer, TimerQueue


class SimulatedDispatcher:
    """Runs turns when told to. Of the actors that have one, the seed picks the next.

    What `call_soon` was given keeps its order, and one actor's messages keep theirs; all else may
    happen in any order, so each seed is another interleaving of what production could do.

    Args:
        seed: Same seed, same history.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        # Two streams: a draw more in an actor must not change who runs next.
        self.rng = random.Random(f"{seed} actors")  # noqa: S311 -- must repeat
        self._choices = random.Random(f"{seed} choices")  # noqa: S311 -- must repeat
        self.history = History(self.now_ns)
        self.observe: Callable[[pykka.ActorRef[Any], object], None] | None = self.history.add
        self._now_ns = 0
        self._turns: deque[Callable[[], None]] = deque()
        self._actor_turns: list[Callable[[], None]] = []
        self._timers = TimerQueue()
        self._is_in_turn = False

    @property
    def timer_count(self) -> int:
        """How many timers will still fire."""
        return len(self._timers)

    def now_ns(self) -> int:
        """Return virtual nanoseconds since the run began."""
        return self._now_ns

    def call_soon(self, turn: Callable[[], None], /) -> None:
        """Run `turn` at the present instant, after those given before it."""
        self._turns.append(turn)

    def dispatch(self, turn: Callable[[], None], /) -> None:
        """Run an actor's turn at the present instant, in an order that the seed picks."""
        self._actor_turns.append(turn)

    def call_later(self, delay_s: float, turn: Callable[[], None], /) -> Timer:
        """Run `turn` after `delay_s` virtual seconds."""
        timer = Timer(self._timers, self._arm, turn)
        self._arm(timer, delay_s)
        return timer

    def run_blocking(self, work: Callable[[], None], /) -> None:
        """Run `work` in a turn of its own; it takes no virtual time."""
        self.dispatch(work)

    def wait_for(self, reply: Reply[Any], timeout_s: float | None, /) -> None:
        """Run until `reply` is done or `timeout_s` virtual seconds have passed."""
        if self._is_in_turn:
            raise BlockingCallError("a turn must not wait for others: be told")
        limit_ns = None if timeout_s is None else self._now_ns + int(timeout_s * 1e9)
        while not reply.is_done:
            if self.step(limit_ns):
                continue
            if limit_ns is None:
                raise BlockingCallError("nothing is left to run, so the answer never comes")
            self._now_ns = limit_ns
            raise pykka.Timeout(f"{timeout_s} seconds")

    def run_for(self, duration_s: float) -> None:
        """Run what is due within the next `duration_s` virtual seconds, and let them pass."""
        assert duration_s >= 0
        self._run_until(self._now_ns + int(duration_s * 1e9))

    def run_until(self, time_s: float) -> None:
        """Run what is due by `time_s` virtual seconds from the start, and let that time pass."""
        self._run_until(int(time_s * 1e9))

    def run_ready(self) -> None:
        """Run what is due now; time stands still."""
        self._run_until(self._now_ns)

    def step(self, limit_ns: int | None = None) -> bool:
        """Run one turn; return False when none is due by `limit_ns`, or at all."""
        turn = self._next_turn(limit_ns)
        if turn is None:
            return False
        self._is_in_turn = True
        try:
            turn()
        finally:
            self._is_in_turn = False
        return True

    def close(self) -> None:
        """Drop all timers."""
        self._timers.clear()

    def _run_until(self, limit_ns: int) -> None:
        assert not self._is_in_turn, "only who runs the simulation lets time pass"
        while self.step(limit_ns):
            pass
        self._now_ns = max(self._now_ns, limit_ns)

    def _next_turn(self, limit_ns: int | None) -> Callable[[], None] | None:
        count = len(self._actor_turns)
        if count or self._turns:
            index = self._choices.randrange(count + bool(self._turns)) if count else 0
            return self._actor_turns.pop(index) if index < count else self._turns.popleft()
        due_ns = self._timers.next_due_ns()
        if due_ns is None or (limit_ns is not None and due_ns > limit_ns):
            return None
        self._now_ns = max(self._now_ns, due_ns)
        return self._timers.pop_due(due_ns)

    def _arm(self, timer: Timer, delay_s: float) -> None:
        assert delay_s >= 0
        self._timers.arm(timer, self._now_ns + int(delay_s * 1e9))
