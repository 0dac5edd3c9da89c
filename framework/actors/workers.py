"""Worker threads that share one queue."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Workers:
    """Threads that start with the first work; `submit` and `close` are callable from any thread.

    They are daemons: a resolver that never answers does not keep the process alive.

    Args:
        threads_max: How many at most; at least 1.
        name: Of the threads.
    """

    def __init__(self, threads_max: int, name: str) -> None:
        assert threads_max >= 1
        self._threads_max = threads_max
        self._name = name
        self._lock = threading.Lock()
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._is_closed = False

    def submit(self, work: Callable[[], None]) -> None:
        """Run `work`, which must not raise, in one of the threads; do nothing after `close`."""
        if self._is_closed:
            return
        self._queue.put(work)
        if len(self._threads) < self._threads_max:
            self._add_thread()

    def close(self, timeout_s: float) -> bool:
        """Finish what was submitted and end the threads; return whether they ended in time each."""
        self._is_closed = True
        with self._lock:
            threads, self._threads = self._threads, []
        for _ in threads:
            self._queue.put(None)
        for thread in threads:
            thread.join(timeout_s)
        return not any(thread.is_alive() for thread in threads)

    def _add_thread(self) -> None:
        with self._lock:
            if self._is_closed or len(self._threads) >= self._threads_max:
                return
            name = f"{self._name}-{len(self._threads)}"
            thread = threading.Thread(target=self._work, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
