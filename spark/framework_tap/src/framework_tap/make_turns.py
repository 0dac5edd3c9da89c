"""Turns at asking JetStream for streams: 10,000 rules begin at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework_tap.limits import MAKES_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


class MakeTurns:
    """Lets some sinks ask for their streams, and others when those have their answers.

    JetStream makes few streams of an account at a time. What all ask for at once waits there until
    those who asked have given it up, and ask again: each stream costs as much as many then.
    """

    def __init__(self, at_once: int = MAKES_AT_ONCE) -> None:
        self._at_once = at_once
        self._asking: set[Hashable] = set()
        self._waiting: dict[Hashable, Callable[[], None]] = {}

    def take(self, sink: Hashable, is_next: Callable[[], None]) -> bool:
        """Return whether a sink has a turn; if not, it waits, and `is_next` says when it has."""
        if sink not in self._asking and len(self._asking) >= self._at_once:
            self._waiting[sink] = is_next
            return False
        self._asking.add(sink)
        return True

    def give_back(self, sink: Hashable) -> None:
        """End a sink's turn, or its waiting for one; the one that has waited longest is next."""
        self._waiting.pop(sink, None)
        if sink not in self._asking:
            return
        self._asking.remove(sink)
        if self._waiting:
            following = next(iter(self._waiting))
            self._asking.add(following)
            self._waiting.pop(following)()
