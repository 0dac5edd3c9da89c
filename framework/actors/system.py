"""An actor system: all actors of one server."""

from __future__ import annotations

import itertools
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import override

from framework.actors._cell import Cell
from framework.actors.component import Component
from framework.actors.registry import Registry
from framework.actors.reply import Reply
from framework.actors.supervision import STOP_ON_FAILURE, Supervision

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from types import TracebackType

    from framework.actors.reference import ActorRef
    from framework.actors.scheduler import Dispatcher

C = TypeVar("C", bound=Component)

_log = logging.getLogger(__name__)  # noqa: TID251 - a server carries its records to its own log


class ActorSystem:
    """Spawns actors on a dispatcher, knows the living ones, and stops them in order.

    Two systems in one process do not see each other. Methods are callable from any thread.

    Args:
        dispatcher: Runs the actors; whoever made it closes it, after the system has stopped.
        name: The server's; part of every URN.
        on_failure: Told once of a failure that no actor answers for: an escalation out of the top,
            or an exit raised in a handler. All actors stop in any case.
        report: Told of every failure: whose, what was raised, and whether `on_start` raised it. By
            default it is logged.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        *,
        name: str = "actors",
        on_failure: Callable[[BaseException], None] | None = None,
        report: Callable[[ActorRef[Any], BaseException, bool], None] | None = None,
    ) -> None:
        self.report = report or _log_failure
        self.dispatcher = dispatcher
        self.name = name
        self.registry = Registry()
        self._serials = itertools.count()
        self._root = Cell(
            self,
            None,
            _Root,
            name="",
            supervision=STOP_ON_FAILURE,
            kwargs={"on_failure": on_failure or (lambda _: None)},
        )
        self._root.create()

    @property
    def rng(self) -> random.Random:
        """The dispatcher's randomness; from the seed in simulation."""
        return self.dispatcher.rng

    def spawn(
        self,
        component: type[C],
        /,
        *,
        name: str | None = None,
        supervision: Supervision = STOP_ON_FAILURE,
        **kwargs: Any,
    ) -> ActorRef[C]:
        """Start an actor that no other actor is the parent of.

        Args:
            component: Its class.
            name: Unique among the living; by default the class and a number.
            supervision: What becomes of it when it fails.
            kwargs: Arguments of its `__init__`, kept for restarts.

        Raises:
            SpawnRefusedError: the system is stopping, or the name is in use.
            Exception: what `__init__` raised.
        """
        return self._root.spawn(component, name, supervision, kwargs)

    def stop(self, deadline_s: float) -> Reply[tuple[str, ...]]:
        """Stop all actors, last started first, each after the messages that wait for it.

        Returns:
            A reply with the names of those that still live when the deadline has passed; empty when
            all have stopped, which answers at once.
        """
        answer = Reply[tuple[str, ...]](self.dispatcher)
        stopped = self._root.ref.stop(block=False)
        deadline = self.dispatcher.call_later(deadline_s, partial(self._answer_late, answer))

        def answer_in_time(_: Reply[bool]) -> None:
            if deadline.cancel():
                answer.set(())

        stopped.when_done(answer_in_time)
        return answer

    def abort(self, ref: ActorRef[Any], error: BaseException) -> None:
        """Stop all actors because `ref` raised what none may handle."""
        self._root.signal(partial(self._root.answer_for, ref, error))

    def new_urn(self) -> str:
        """Return a URN that no actor of this system had; counted, since a seed must repeat it."""
        return f"urn:actor:{self.name}:{next(self._serials)}"

    def _answer_late(self, answer: Reply[tuple[str, ...]]) -> None:
        answer.set(tuple(ref.name for ref in self.registry.get_all()))


def _log_failure(ref: ActorRef[Any], error: BaseException, _in_start: bool) -> None:  # noqa: FBT001
    _log.error("actor failed: %s", ref.name, exc_info=error)


class _Root(Component):
    """Parent of what the system spawns; stops with all of it when one fails too often."""

    def __init__(self, *, on_failure: Callable[[BaseException], None]) -> None:
        self._on_failure = on_failure

    @override
    def on_failure(
        self,
        exception_type: type[BaseException] | None,
        exception_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert exception_value is not None
        self._on_failure(exception_value)
