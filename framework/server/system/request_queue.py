"""Requests that wait to be answered: each asker has its share, whoever asks the most.

A machine: `SystemServices` puts requests in and begins what comes out.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

_T = TypeVar("_T")


class RequestQueue(Generic[_T]):
    """Requests by who asks: an account, or another server.

    Args:
        waiting_max: Requests that may wait in all; beyond it, who has the most loses its latest.
        at_once: Requests that are worked on at a time.
        at_once_each: The same, of one asker.
    """

    def __init__(self, *, waiting_max: int, at_once: int, at_once_each: int) -> None:
        assert 0 < at_once_each <= at_once
        assert waiting_max > 0
        self._waiting_max = waiting_max
        self._at_once = at_once
        self._at_once_each = at_once_each
        self._count = 0
        self._waiting: dict[Hashable, deque[_T]] = {}
        """Who is next comes first."""
        self._running: Counter[Hashable] = Counter()

    def __len__(self) -> int:
        """Return how many wait."""
        return self._count

    def put(self, asker: Hashable, requests: Iterable[_T]) -> int:
        """Let requests wait; return how many of all were dropped for them."""
        own = self._waiting.setdefault(asker, deque())
        before = len(own)
        own.extend(requests)
        self._count += len(own) - before
        dropped = 0
        while self._count > self._waiting_max:
            fullest = max(self._waiting.values(), key=len)
            surplus = min(self._count - self._waiting_max, self._surplus(fullest))
            for _ in range(surplus):
                fullest.pop()
            self._count -= surplus
            dropped += surplus
        return dropped

    def take(self) -> tuple[Hashable, _T] | None:
        """Return the next request to begin, and whose it is; None: none may begin now."""
        if self._running.total() >= self._at_once:
            return None
        for asker in self._waiting:
            if self._running[asker] < self._at_once_each:
                return asker, self._begin(asker)
        return None

    def finish(self, asker: Hashable) -> None:
        """Take note that a request of this asker was answered."""
        self._running[asker] -= 1
        if not self._running[asker]:
            del self._running[asker]

    def clear(self) -> None:
        """Forget all that wait."""
        self._waiting.clear()
        self._count = 0

    def _begin(self, asker: Hashable) -> _T:
        """Take one of an asker's, who comes last from now on."""
        own = self._waiting.pop(asker)
        request = own.popleft()
        if own:
            self._waiting[asker] = own
        self._count -= 1
        self._running[asker] += 1
        return request

    def _surplus(self, fullest: deque[_T]) -> int:
        """Return by how many the fullest is above the next one, at least one."""
        others = max((len(it) for it in self._waiting.values() if it is not fullest), default=0)
        return max(1, len(fullest) - others)
