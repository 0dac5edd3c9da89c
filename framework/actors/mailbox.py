"""The bounded mailbox of an actor, and its policy when it is full."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Container
from enum import Enum, auto
from typing import Any

import pykka

from framework.actors._pykka import ActorStop, Envelope
from framework.actors.errors import MailboxFullError


class WhenFull(Enum):
    """Policy for messages to a full mailbox.

    A dropped ask is answered with `MailboxFullError`; a `KeptEnvelope` is never dropped.
    """

    REFUSE = auto()
    """The sender gets `MailboxFullError`."""
    DROP_NEWEST = auto()
    """This message is dropped and counted."""


class KeptEnvelope(Envelope[Any]):
    """An order to stop, a timer or an answer: the actor itself asked for them, so they are few."""

    __slots__ = ()


class Mailbox:
    """One actor's inbox. Puts come from any thread, all else from the actor's turn.

    Args:
        limit: Messages that it holds; at least 1.
        when_full: What happens to one more.
        run: The actor's turn.
        dispatch: Gets `run` when a message comes and no turn is waiting or running.
    """

    __slots__ = (
        "_attention",
        "_busy",
        "_closed_because",
        "_dispatch",
        "_is_pressed",
        "_limit",
        "_on_pressure",
        "_queue",
        "_run",
        "_when_full",
        "dropped_count",
    )  # fmt: skip

    def __init__(
        self,
        limit: int,
        when_full: WhenFull,
        run: Callable[[], None],
        dispatch: Callable[[Callable[[], None]], None],
    ) -> None:
        assert limit >= 1
        self._queue: deque[Any] = deque()
        self._busy = threading.Lock()
        self._run = run
        self._dispatch = dispatch
        self._limit = limit
        self._when_full = when_full
        self._attention = limit
        self._on_pressure: Callable[[bool], None] | None = None
        self._is_pressed = False
        self._closed_because: str | None = None
        self.dropped_count = 0

    def __len__(self) -> int:
        """Return how many messages wait; callable from any thread."""
        return len(self._queue)

    def watch_pressure(self, callback: Callable[[bool], None] | None) -> None:
        """Call `callback(True)` at three quarters full, `callback(False)` back at one quarter.

        It runs where the put or the turn runs that crossed the mark; it must not raise or block.
        """
        self._on_pressure = callback
        self._attention = self._limit if callback is None else self._high_mark

    def put(self, item: Any, /) -> None:
        """Append a message, or do with it what `when_full` says; callable from any thread.

        Args:
            item: A message that was told, as it is, or an envelope with a question. An envelope for
                each message would cost a quarter of a tell.

        Raises:
            MailboxFullError: it is full, refuses, and this is a tell.
        """
        if len(self._queue) >= self._attention and not self._admit(item):
            return
        self._queue.append(item)
        # Looked at after the append: what a closing mailbox missed is answered here.
        if self._closed_because is not None:
            self._answer_dead(self._closed_because)
        elif self._busy.acquire(blocking=False):
            self._dispatch(self._run)

    def get(self) -> Any:
        """Return what waits longest; IndexError when nothing does."""
        return self._queue.popleft()

    def take_told(self, apart: Container[type]) -> list[object]:
        """Return what waits longest, up to an item of a type `apart`."""
        told: list[object] = []
        for _ in range(len(self._queue)):
            item = self._queue.popleft()
            if type(item) in apart:
                self._queue.appendleft(item)
                break
            told.append(item)
        return told

    def empty(self) -> bool:
        """Return whether nothing waits; callable from any thread."""
        return not self._queue

    def wake(self) -> None:
        """Ask for a turn although no message came; callable from any thread."""
        if self._closed_because is None and self._busy.acquire(blocking=False):
            self._dispatch(self._run)

    def rest(self, has_work: Callable[[], bool]) -> None:
        """End a turn: go on later while the actor has work, else wait for a put or `wake`."""
        if self._is_pressed and len(self._queue) <= self._limit // 4:
            self._is_pressed = False
            if self._on_pressure is not None:
                self._on_pressure(False)  # noqa: FBT003 -- a callback's one argument
        if not has_work():
            self._busy.release()
            # What came between question and release found the actor busy and asked for no turn.
            if not has_work() or not self._busy.acquire(blocking=False):
                return
        self._dispatch(self._run)

    def close(self, because: str) -> None:
        """Answer all that waits and all that will come as pykka does for a stopped actor."""
        self._closed_because = because
        if self._is_pressed and self._on_pressure is not None:
            self._on_pressure(False)  # noqa: FBT003 -- a callback's one argument
        self._on_pressure = None
        self._run = _no_turn  # the actor's own would lead back here
        self._answer_dead(because)

    @property
    def _high_mark(self) -> int:
        return max(1, self._limit * 3 // 4)

    def _admit(self, item: Any) -> bool:
        if self._on_pressure is not None and not self._is_pressed:
            self._is_pressed = True
            self._on_pressure(True)  # noqa: FBT003 -- a callback's one argument
        if len(self._queue) < self._limit or isinstance(item, KeptEnvelope):
            return True
        if self._when_full is WhenFull.REFUSE and not isinstance(item, Envelope):
            raise MailboxFullError(f"{self._limit} messages wait already")
        self.dropped_count += 1
        _answer_error(item, MailboxFullError(f"{self._limit} messages wait already"))
        return False

    def _answer_dead(self, because: str) -> None:
        while self._queue:
            try:
                item = self._queue.popleft()
            except IndexError:  # another thread answers too
                return
            if isinstance(item, KeptEnvelope) and isinstance(item.message, ActorStop):
                if item.reply_to is not None:
                    item.reply_to.set(None)
            else:
                _answer_error(item, pykka.ActorDeadError(because))


def _no_turn() -> None:
    """Take the place of the turn of an actor that has ended: it stays busy, so none is given."""


def _answer_error(item: Any, error: Exception) -> None:
    if isinstance(item, Envelope) and item.reply_to is not None:
        item.reply_to.set_exception((type(error), error, None))
