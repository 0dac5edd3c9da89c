"""Messages that an actor sends itself: timers, and answers that it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.actors.reply import Reply
    from framework.actors.timer import Timer

NOTHING: Final = object()
"""In place of a message or an answer: there is none."""


class Own:
    """What an actor tells itself by a timer or an answer, good for one life only."""

    __slots__ = ("generation", "make")

    def __init__(self, generation: int, make: Callable[[], object]) -> None:
        self.generation = generation
        self.make = make


class Question:
    """An answer that an actor waits for, or its deadline, whichever comes first."""

    __slots__ = ("answer", "deadline", "is_open")

    def __init__(self, answer: Callable[[Any], object]) -> None:
        self.answer = answer
        self.deadline: Timer | None = None
        self.is_open = True

    def close(self, outcome: Reply[Any] | Exception) -> object:
        """Return the message for the actor; `NOTHING` when it was told already."""
        if not self.is_open:
            return NOTHING
        self.is_open = False
        if self.deadline is not None:
            self.deadline.cancel()
        return self.answer(outcome if isinstance(outcome, Exception) else outcome.outcome())
