"""Where batches of one tap wait for who records them. The plane bounds their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.spec import Batch, SinkDrops


class Source:
    """Batches of one tap of a rule, in the control loop."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self.messages = 0
        """Of all so far."""
        self._batches: list[Batch] = []
        self._drops: SinkDrops | None = None
        self._dropped = 0
        self._dropped_seen = 0
        self._dropped_all = 0
        self._wake: Callable[[], None] | None = None

    def open(self, wake: Callable[[], None]) -> None:
        """Call `wake` whenever something has come."""
        self._wake = wake

    def receive(self, batch: Batch) -> None:
        """Keep a batch. Its sink counts it as held until it is let go of."""
        self._drops = batch.drops()
        self._count_dropped()
        if len(batch):
            self._batches.append(batch)
            self.size_bytes += memoryview(batch).nbytes
            self.messages += len(batch)
        if self._wake is not None:
            self._wake()

    def _count_dropped(self) -> None:
        """Count what was dropped since the last look; also when nothing has come since then."""
        count = self._drops.count if self._drops is not None else 0
        # A tap that was subscribed anew counts from 0 again.
        more = count - (self._dropped_seen if count >= self._dropped_seen else 0)
        self._dropped_seen = count
        self._dropped += more
        self._dropped_all += more

    @property
    def dropped(self) -> int:
        """Messages that there was no room for, of all so far."""
        self._count_dropped()
        return self._dropped_all

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to take."""
        self._count_dropped()
        return not self._batches and not self._dropped

    def take(self, bytes_max: int) -> list[Batch]:
        """Return the batches that come next: one at least, and no more than `bytes_max`."""
        count = size = 0
        for batch in self._batches:
            length = memoryview(batch).nbytes
            if count and size + length > bytes_max:
                break
            size += length
            count += 1
        taken, self._batches = self._batches[:count], self._batches[count:]
        self.size_bytes -= size
        return taken

    def take_dropped(self) -> int:
        """Return how many messages there was no room for since the last call."""
        dropped, self._dropped = self._dropped, 0
        return dropped
