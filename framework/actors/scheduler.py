"""Protocols of dispatchers: time, timers and turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    import pykka

    from framework.actors.reply import Reply
    from framework.actors.timer import Timer


class Scheduler(Protocol):
    """The only source of time and of turns; everything else asks it."""

    def now_ns(self) -> int:
        """Return nanoseconds since an arbitrary start; never goes back; any thread."""
        ...

    def call_soon(self, turn: Callable[[], None], /) -> None:
        """Run `turn` after those given before it; callable from any thread."""
        ...

    def call_later(self, delay_s: float, turn: Callable[[], None], /) -> Timer:
        """Run `turn` once `delay_s` seconds have passed; 0 <= delay_s. Callable from any thread."""
        ...


class Dispatcher(Scheduler, Protocol):
    """A scheduler that runs actors."""

    rng: random.Random
    """Randomness for the actors; from the seed in simulation."""

    observe: Callable[[pykka.ActorRef[Any], object], None] | None
    """Told of every message just before its actor handles it; None when nobody watches."""

    def dispatch(self, turn: Callable[[], None], /) -> None:
        """Run one actor's turn, in any order with other actors'; callable from any thread."""
        ...

    def run_blocking(self, work: Callable[[], None], /) -> None:
        """Run `work`, which may block but not raise, where it stops no actor."""
        ...

    def wait_for(self, reply: Reply[Any], timeout_s: float | None, /) -> None:
        """Return once `reply` is done.

        Raises:
            BlockingCallError: called where waiting would keep the answer from coming.
            pykka.Timeout: `timeout_s` seconds passed.
        """
        ...
