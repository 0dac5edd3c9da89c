"""`Component`, the base class of every actor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, TypeVar

import pykka
from typing_extensions import override

from framework.actors.limits import MAILBOX_MAX, TURN_MESSAGES_MAX
from framework.actors.mailbox import Mailbox, WhenFull
from framework.actors.reply import Reply
from framework.actors.supervision import STOP_ON_FAILURE, Supervision

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from framework.actors._cell import Cell
    from framework.actors.reference import ActorRef
    from framework.actors.system import ActorSystem
    from framework.actors.timer import Timer

C = TypeVar("C", bound="Component")
T = TypeVar("T")


class Component(pykka.Actor):
    """A pykka actor on a shared dispatcher.

    Made by `ActorSystem.spawn` or `Component.spawn`. The hooks `on_start`, `on_receive`, `on_stop`
    and `on_failure` are pykka's; none of them may block. One turn handles up to `TURN_MESSAGES_MAX`
    messages, or hands all that wait to `on_batch` when a class overrides that.

    Everything an actor begins through the methods here ends with it: timers, children, questions.
    They may be used from `on_start` on; what only tells something also in `__init__`.
    """

    MAILBOX_MAX: ClassVar[int] = MAILBOX_MAX
    """Messages that may wait."""
    WHEN_FULL: ClassVar[WhenFull] = WhenFull.REFUSE
    """What happens to one message more."""
    TURN_MESSAGES_MAX: ClassVar[int] = TURN_MESSAGES_MAX
    """Messages of one turn; not for `on_batch`."""

    takes_batches: ClassVar[bool] = False
    """Whether the class overrides `on_batch`."""

    _cell: Cell[Self]  # bound before `__init__` runs, so that collaborators are its only arguments

    @override
    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.takes_batches = cls.on_batch is not Component.on_batch

    def __init__(self) -> None:
        """Do nothing: pykka's own would make a uuid and an event for each actor."""

    @classmethod
    @override
    def start(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"an actor lives in a system: system.spawn({cls.__name__}, ...)")

    def on_batch(self, messages: list[object]) -> None:
        """Handle all told messages that wait, in order; at most `MAILBOX_MAX`.

        Override it to be given batches. What is asked still comes to `on_receive`, at its place
        in the order. When it raises, the whole batch is lost.
        """
        for message in messages:
            self.on_receive(message)

    def on_child_stopped(self, child: ActorRef[Any]) -> None:
        """Run code after a child stopped for good and did not take this actor with it."""

    @property
    def system(self) -> ActorSystem:
        """The system that this actor lives in."""
        return self._cell.system

    @property
    def parent(self) -> ActorRef[Any] | None:
        """The actor that spawned this one; None when the system did."""
        return self._cell.parent_ref

    @property
    def children(self) -> Sequence[ActorRef[Any]]:
        """The living actors that this one spawned, in order of start."""
        return [child for child in self._cell.children if child.is_alive()]

    @property
    @override
    def actor_ref(self) -> ActorRef[Self]:
        return self._cell.ref

    @property
    def rng(self) -> random.Random:
        """The system's randomness; from the seed in simulation."""
        return self._cell.dispatcher.rng

    def now_ns(self) -> int:
        """Return nanoseconds since an arbitrary start; never goes back."""
        return self._cell.dispatcher.now_ns()

    def spawn(
        self,
        component: type[C],
        /,
        *,
        name: str | None = None,
        supervision: Supervision = STOP_ON_FAILURE,
        **kwargs: Any,
    ) -> ActorRef[C]:
        """Start a child: it stops before this actor stops or restarts, and is supervised by it.

        Args:
            component: Its class.
            name: Its name is `<name of this actor>/<name>`; by default the class and a number.
            supervision: What becomes of it when it fails.
            kwargs: Arguments of its `__init__`, kept for restarts.
        """
        return self._cell.spawn(component, name, supervision, kwargs)

    @override
    def stop(self) -> None:
        self._cell.order_stop()

    def tell_later(self, delay_s: float, message: object) -> Timer:
        """Tell this actor `message` after `delay_s` seconds; not when it restarted by then.

        Once its timer is cancelled or reset, `message` does not come, even if it was on its way.
        """
        return self._cell.tell_later(delay_s, message)

    def ask(
        self,
        ref: ActorRef[Any],
        message: object,
        *,
        answer: Callable[[Any], object],
        deadline_s: float | None = None,
    ) -> None:
        """Ask `ref`, and tell this actor `answer(what came back)`.

        Args:
            ref: Any actor, of any system.
            message: The question.
            answer: Makes the message; gets what the other's handler returned, or the exception that
                it raised, or pykka's `ActorDeadError`. Runs in this actor's turn.
            deadline_s: Seconds until `answer` gets `pykka.Timeout` instead.
        """
        self.await_reply(ref.ask(message, block=False), answer=answer, deadline_s=deadline_s)

    def await_reply(
        self,
        reply: Reply[Any],
        *,
        answer: Callable[[Any], object],
        deadline_s: float | None = None,
    ) -> None:
        """Tell this actor `answer(what came back)` when `reply` is set, by whom and where ever.

        Args:
            reply: Of another actor, or of nobody in particular.
            answer: As in `ask`.
            deadline_s: As in `ask`.
        """
        self._cell.await_reply(reply, answer, deadline_s)

    def run_blocking(
        self, work: Callable[..., T], *args: Any, answer: Callable[[Any], object]
    ) -> None:
        """Run `work(*args)` in a worker thread, and tell this actor `answer(what came of it)`.

        Args:
            work: May block. It shares nothing with this actor but its arguments.
            args: Its arguments.
            answer: Makes the message; gets what `work` returned, or the exception that it raised.
                Runs in this actor's turn.
        """
        reply = Reply[T]()

        def attempt() -> None:
            try:
                result = work(*args)
            except BaseException:  # noqa: BLE001 -- whatever it is, the actor that asked decides
                reply.set_exception()
            else:
                reply.set(result)

        self._cell.await_reply(reply, answer, None)
        self._cell.dispatcher.run_blocking(attempt)

    def bind(self, cell: Cell[Any]) -> None:
        """Set what pykka's `__init__` would make anew for each object; called once, before ours."""
        self._cell = cell
        self.actor_urn = cell.ref.actor_urn
        self.actor_inbox = cell.mailbox
        self.actor_stopped = cell.ref.actor_stopped

    def handle_proxy(self, message: object) -> object:
        """Carry out what a pykka proxy sent."""
        return self._handle_receive(message)

    @staticmethod
    @override
    def _create_actor_inbox() -> Mailbox:
        raise NotImplementedError("the cell makes it, with the class's bound")

    @staticmethod
    @override
    def _create_future() -> Reply[Any]:
        return Reply()

    @override
    def _start_actor_loop(self) -> None:
        raise NotImplementedError("a cell gives turns; there is no loop")
