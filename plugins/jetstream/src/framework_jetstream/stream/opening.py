"""Streams and consumers that were read from the log: when the engine serves all of them."""

from __future__ import annotations

from framework.actors import Reply


class Opening:
    """Counts those that are still to be served.

    Args:
        count: How many there are.
    """

    def __init__(self, count: int) -> None:
        self.done = Reply[None]()
        """Set when all are served."""
        self._left = count
        if not count:
            self.done.set()

    def end_one(self) -> None:
        """One more is served."""
        self._left -= 1
        if not self._left:
            self.done.set()
