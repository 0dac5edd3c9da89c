"""Timers, and the one queue of them that every dispatcher keeps.

It holds no clock and starts nothing: a dispatcher asks what is due.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable, MutableMapping

from framework.actors.limits import CANCELLED_TIMERS_KEPT

_IDLE = -1


class Timer:
    """A turn that waits for its time. Made by `call_later` and `tell_later`."""

    __slots__ = (
        "__weakref__",
        "_arm",
        "_queue",
        "due_ns",
        "item_due_ns",
        "item_order",
        "order",
        "owner",
        "turn",
    )

    def __init__(
        self, queue: TimerQueue, arm: Callable[[Timer, float], None], turn: Callable[[], None]
    ) -> None:
        self._queue = queue
        self._arm = arm
        self.turn: Callable[[], None] | None = turn
        self.owner: MutableMapping[Timer, None] | None = None
        self.due_ns = 0
        self.order = _IDLE
        self.item_due_ns = 0
        self.item_order = _IDLE

    @property
    def is_pending(self) -> bool:
        """Whether it will still fire."""
        return self.order != _IDLE

    def cancel(self) -> bool:
        """Never fire, let go of the turn, and return whether it was pending; any thread."""
        return self._queue.cancel(self)

    def reset(self, delay_s: float) -> None:
        """Fire `delay_s` seconds from now instead, or again after it has fired; not after `cancel`.

        Cost: no queue operation when the time moves away, which is what keepalives do.
        """
        assert self.turn is not None, "a cancelled timer has let go of its turn"
        self._arm(self, delay_s)


class TimerQueue:
    """Timers in order of time, then of arming. All methods are callable from any thread.

    A reset to a later time leaves the timer's item in the heap where it is; when the item comes
    to the top it moves on. So an item may lag behind its timer, never run ahead of it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._heap: list[tuple[int, int, Timer]] = []
        self._orders = itertools.count()
        self._pending_count = 0

    def __len__(self) -> int:
        """Return how many timers will still fire."""
        return self._pending_count

    def arm(self, timer: Timer, due_ns: int) -> bool:
        """Let `timer` fire at `due_ns`; return whether the first time that is due changed."""
        with self._lock:
            if timer.order == _IDLE:
                self._pending_count += 1
            timer.due_ns = due_ns
            timer.order = next(self._orders)
            if timer.owner is not None:
                timer.owner[timer] = None
            if timer.item_order != _IDLE and due_ns >= timer.item_due_ns:
                return False
            self._push(timer)
            return self._heap[0][2] is timer

    def cancel(self, timer: Timer) -> bool:
        """Take `timer` out for good; return whether it was pending."""
        with self._lock:
            timer.turn = None
            if timer.order == _IDLE:
                return False
            self._retire(timer)
            if len(self._heap) > CANCELLED_TIMERS_KEPT + 2 * self._pending_count:
                self._sweep()
            return True

    def next_due_ns(self) -> int | None:
        """Return when the next timer fires; None when there is none."""
        with self._lock:
            self._settle()
            return self._heap[0][0] if self._heap else None

    def pop_due(self, now_ns: int) -> Callable[[], None] | None:
        """Take the first timer due by `now_ns` and return its turn; None when nothing is due."""
        with self._lock:
            self._settle()
            if not self._heap or self._heap[0][0] > now_ns:
                return None
            timer = heapq.heappop(self._heap)[2]
            self._retire(timer)
            return timer.turn

    def clear(self) -> None:
        """Cancel every timer."""
        with self._lock:
            for _, _, timer in self._heap:
                timer.turn = None
                if timer.order != _IDLE:
                    self._retire(timer)
            self._heap.clear()

    def _push(self, timer: Timer) -> None:
        timer.item_due_ns = timer.due_ns
        timer.item_order = timer.order
        heapq.heappush(self._heap, (timer.due_ns, timer.order, timer))

    def _retire(self, timer: Timer) -> None:
        timer.order = timer.item_order = _IDLE
        self._pending_count -= 1
        if timer.owner is not None:
            timer.owner.pop(timer, None)

    def _settle(self) -> None:
        """Bring an item to the top that says what its timer says."""
        heap = self._heap
        while heap and heap[0][1] != heap[0][2].order:
            _, order, timer = heapq.heappop(heap)
            if order == timer.item_order:
                self._push(timer)

    def _sweep(self) -> None:
        live = [item for item in self._heap if item[1] == item[2].item_order]
        heapq.heapify(live)
        self._heap = live
