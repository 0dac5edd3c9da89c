"""Expiration of logins: one timer wheel for all connections."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from framework.spec import LinkId


class Expirations:
    """Links by the second at which their login expires.

    Cost: O(1) to add, to move and to remove; a turn of the wheel costs the seconds that have
    passed, or the seconds that anything waits for, whichever are fewer.
    """

    def __init__(self) -> None:
        self._seconds: dict[int, dict[LinkId, None]] = {}
        self._of_link: dict[LinkId, int] = {}
        self._turned_s = 0
        """All up to this second were handed out."""

    def __len__(self) -> int:
        """Return how many wait for their end."""
        return len(self._of_link)

    def set(self, link: LinkId, at_s: float) -> None:
        """Let a link end at a Unix time; 0: never."""
        self.discard(link)
        if at_s:
            second = max(math.ceil(at_s), self._turned_s + 1)
            self._seconds.setdefault(second, {})[link] = None
            self._of_link[link] = second

    def discard(self, link: LinkId) -> None:
        """Forget a link."""
        second = self._of_link.pop(link, None)
        if second is not None:
            waiting = self._seconds[second]
            del waiting[link]
            if not waiting:
                del self._seconds[second]

    def turn(self, now_s: float) -> list[LinkId]:
        """Return the links whose time is over by a Unix time, and forget them."""
        until = math.floor(now_s)
        passed = range(self._turned_s + 1, until + 1)
        if len(passed) > len(self._seconds):
            due = sorted(second for second in self._seconds if second <= until)
        else:
            due = [second for second in passed if second in self._seconds]
        self._turned_s = max(self._turned_s, until)
        links = [link for second in due for link in self._seconds[second]]
        for link in links:
            self.discard(link)
        return links
