"""The life of one actor: turns, failures, restarts, children, stop.

A cell outlives the actor objects that supervision puts into it, so a reference stays valid. All of
it happens in the actor's turn; what comes from elsewhere comes as a message or as a signal. Signals
are handled first, and also while the actor takes no messages.
"""

from __future__ import annotations

import logging
import weakref
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import pykka
from pykka.messages import ProxyCall, ProxyGetAttr, ProxySetAttr
from typing_extensions import override

from framework.actors._own import NOTHING, Own, Question
from framework.actors._pykka import ActorStop, Envelope
from framework.actors.errors import ChildFailedError, SpawnRefusedError
from framework.actors.mailbox import KeptEnvelope, Mailbox
from framework.actors.reference import ActorRef, StopFlag

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.actors.component import Component
    from framework.actors.reply import Reply
    from framework.actors.scheduler import Dispatcher
    from framework.actors.supervision import Supervision
    from framework.actors.system import ActorSystem
    from framework.actors.timer import Timer

A = TypeVar("A", bound="Component")
C = TypeVar("C", bound="Component")

# Not structlog: its import costs a server a twentieth of its start, and this is for bugs alone.
_log = logging.getLogger(__name__)  # noqa: TID251 - a server carries its records to its own log


class Phase(Enum):
    """State of an actor: starting, running, stopping."""

    NEW = auto()
    """`on_start` has not run."""
    RUNNING = auto()
    WINDING_DOWN = auto()
    """Its children stop, one after the other; messages wait."""
    BACKING_OFF = auto()
    """It failed, and will be started again."""
    STOPPED = auto()


_PROXY: Final = frozenset((ProxyCall, ProxyGetAttr, ProxySetAttr))
_APART: Final = _PROXY | {Envelope, KeptEnvelope}


class Cell(Generic[A]):
    """Run one actor. Made by `Cell.spawn`, or by the system for its root."""

    __slots__ = (
        "_component", "_error", "_failed_ns", "_generation", "_is_stop_ordered", "_kwargs",
        "_parent", "_phase", "_restart_timer", "_signals", "_stop_replies", "_supervision", "_then",
        "_timers", "actor", "children", "dispatcher", "mailbox", "ref", "stopped", "system",
    )  # fmt: skip

    def __init__(
        self,
        system: ActorSystem,
        parent: Cell[Any] | None,
        component: type[A],
        *,
        name: str | None,
        supervision: Supervision,
        kwargs: dict[str, Any],
    ) -> None:
        self.system = system
        self.dispatcher: Dispatcher = system.dispatcher
        self.actor: A | None = None
        self.children: dict[ActorRef[Any], None] = {}
        self.stopped = StopFlag()
        self.mailbox = Mailbox(
            component.MAILBOX_MAX, component.WHEN_FULL, self._turn, self.dispatcher.dispatch
        )
        urn = system.new_urn()
        own_name = name if name is not None else f"{component.__name__}-{urn.rpartition(':')[2]}"
        path = (
            f"{parent.ref.name}/{own_name}" if parent is not None and parent.ref.name else own_name
        )
        self.ref: ActorRef[A] = ActorRef(self, component, urn, path)
        self._parent = parent
        self._component = component
        self._kwargs = kwargs
        self._supervision = supervision
        self._phase = Phase.NEW
        self._then: Callable[[], None] | None = None
        self._signals: list[Callable[[], None]] = []
        self._timers: dict[Timer, None] = {}
        self._stop_replies: list[pykka.Future[Any] | None] = []
        self._is_stop_ordered = False
        self._generation = 0
        self._failed_ns: list[int] = []
        self._error: BaseException | None = None
        self._restart_timer: Timer | None = None

    @override
    def __str__(self) -> str:
        """Return the name of the actor: a dispatcher that reports its turn knows only this."""
        return self.ref.name

    # -- from the actor, its reference and its parent

    @property
    def parent_ref(self) -> ActorRef[Any] | None:
        """The actor above; None below the system's root."""
        is_top = self._parent is None or self._parent._parent is None  # noqa: SLF001
        return None if is_top or self._parent is None else self._parent.ref

    def spawn(
        self, component: type[C], name: str | None, supervision: Supervision, kwargs: dict[str, Any]
    ) -> ActorRef[C]:
        """Make a child and give it its first turn; its `__init__` runs here and may raise."""
        if self._phase is not Phase.NEW and self._phase is not Phase.RUNNING:
            raise SpawnRefusedError(f"{self.ref.name or self.system.name} is stopping")
        assert self.actor is not None, "begin in on_start, not in __init__"
        child = Cell(
            self.system, self, component, name=name, supervision=supervision, kwargs=kwargs
        )
        self.system.registry.add(child.ref)
        try:
            child.create()
        except BaseException:
            self.system.registry.remove(child.ref)
            raise
        self.children[child.ref] = None
        child.mailbox.wake()
        return child.ref

    def create(self) -> None:
        """Put a new actor object into this cell."""
        component = self._component
        actor = component.__new__(component)
        actor.bind(self)
        component.__init__(actor, **self._kwargs)
        self.actor = actor

    def order_stop(self, reply: Reply[Any] | None = None) -> None:
        """Stop after the messages that wait now; callable from any thread."""
        self._is_stop_ordered = True
        self.mailbox.put(KeptEnvelope(ActorStop(), reply_to=reply))
        if self._phase is Phase.BACKING_OFF:
            self.signal(self._stop_instead)

    def tell_later(self, delay_s: float, message: object) -> Timer:
        """Tell this life of the actor `message` after `delay_s` seconds."""

        def make() -> object:
            # What was cancelled or reset while its message waited in the mailbox did not happen;
            # of a timer that nobody holds any more it can't have been.
            timer = held()
            is_void = timer is not None and (timer.turn is None or timer.is_pending)
            return NOTHING if is_void else message

        timer = self._call_later(delay_s, partial(self._tell_own, self._generation, make))
        # The timer leads here: it would hold its message until garbage is collected.
        held = weakref.ref(timer)
        return timer

    def await_reply(
        self, reply: Reply[Any], answer: Callable[[Any], object], deadline_s: float | None
    ) -> None:
        """Tell this life of the actor `answer(...)` when `reply` is done or the deadline passed."""
        question = Question(answer)
        tell = partial(self._tell_own, self._generation)
        if deadline_s is not None:
            late = pykka.Timeout(f"{deadline_s} seconds")
            question.deadline = self._call_later(
                deadline_s, partial(tell, partial(question.close, late))
            )
        reply.when_done(lambda done: tell(partial(question.close, done)))

    def signal(self, handle: Callable[[], None]) -> None:
        """Run `handle` in a turn, before any message; callable from any thread."""
        self._signals.append(handle)
        self.mailbox.wake()

    # -- turns

    def _turn(self) -> None:
        if self._phase is Phase.NEW:
            self._start()
        while self._signals:
            self._signals.pop(0)()
        if self._phase is Phase.RUNNING:
            if self._component.takes_batches:
                self._handle_batches()
            else:
                self._handle_messages()
        if self._phase is not Phase.STOPPED:
            self.mailbox.rest(self._has_work)

    def _has_work(self) -> bool:
        return bool(self._signals) or (self._phase is Phase.RUNNING and not self.mailbox.empty())

    def _start(self) -> None:
        self._phase = Phase.RUNNING
        assert self.actor is not None
        try:
            self.actor.on_start()
        except BaseException as error:  # noqa: BLE001 -- it must not reach the neighbours
            self._fail(error, is_told=False)

    def _handle_messages(self) -> None:
        mailbox = self.mailbox
        for _ in range(self._component.TURN_MESSAGES_MAX):
            try:
                item = mailbox.get()
            except IndexError:
                return
            self._handle(item)
            if self._phase is not Phase.RUNNING:
                return

    def _handle_batches(self) -> None:
        mailbox = self.mailbox
        for _ in range(self._component.TURN_MESSAGES_MAX):
            if mailbox.empty() or self._phase is not Phase.RUNNING:
                return
            told = mailbox.take_told(_APART)
            if told:
                self._handle_batch(told)
                continue
            try:
                item = mailbox.get()
            except IndexError:  # a sender in another thread dropped it
                continue
            self._handle(item)

    def _handle_batch(self, told: list[object]) -> None:
        try:
            self._deliver_batch(told)
        except BaseException as error:  # noqa: BLE001 -- as in `_handle`
            self._fail(error)

    def _handle(self, item: Any) -> None:
        """Handle one message as the mailbox held it."""
        if type(item) in _APART:
            self._open(item if isinstance(item, Envelope) else Envelope(item))
            return
        try:
            self._receive(item)
        except BaseException as error:  # noqa: BLE001 -- it must not reach the neighbours
            self._fail(error)

    def _open(self, envelope: Envelope[Any]) -> None:
        reply_to = envelope.reply_to
        try:
            response = self._handle_apart(envelope)
            if reply_to is not None and response is not NOTHING:
                reply_to.set(response)
        except Exception as error:  # noqa: BLE001 -- it must not reach the neighbours
            if reply_to is None:
                self._fail(error)
            else:
                _log.info("actor raised to its caller: %s", self.ref.name, exc_info=error)
                reply_to.set_exception()
        except BaseException as error:  # noqa: BLE001 -- nor may an exit: the system stops in order
            self._fail(error)
            if reply_to is not None:
                dead = pykka.ActorDeadError(f"{self.ref} was ended by {error!r}")
                reply_to.set_exception((type(dead), dead, None))

    def _handle_apart(self, envelope: Envelope[Any]) -> object:
        """Handle what was enveloped and return the answer; `NOTHING` when that comes later."""
        message = envelope.message
        kind = type(message)
        if kind is ActorStop:
            self._stop_replies.append(envelope.reply_to)
            self._wind_down(self._finish)
            return NOTHING
        if kind is Own:
            own = message.make() if message.generation == self._generation else NOTHING
            if own is not NOTHING and self._component.takes_batches:
                self._deliver_batch([own])
                return None
            return own if own is NOTHING else self._receive(own)
        return self._receive(message, is_proxy=kind in _PROXY)

    def _receive(self, message: object, *, is_proxy: bool = False) -> object:
        assert self.actor is not None
        if self.dispatcher.observe is not None:
            self.dispatcher.observe(self.ref, message)
        return self.actor.handle_proxy(message) if is_proxy else self.actor.on_receive(message)

    def _deliver_batch(self, messages: list[object]) -> None:
        assert self.actor is not None
        if self.dispatcher.observe is not None:
            for message in messages:
                self.dispatcher.observe(self.ref, message)
        self.actor.on_batch(messages)

    # -- failure and stop

    def _fail(self, error: BaseException, *, is_told: bool = True) -> None:
        """Restart or stop after an unhandled exception.

        Args:
            error: What was raised.
            is_told: Whether `on_failure` runs; as in pykka, not when `on_start` failed.
        """
        if self._phase is not Phase.RUNNING and self._phase is not Phase.NEW:
            return  # a failure while it stops anyway; logged by who raised it
        self.system.report(self.ref, error, not is_told)
        if is_told and self.actor is not None:
            self._guard(partial(self.actor.on_failure, type(error), error, error.__traceback__))
        if not isinstance(error, Exception):
            self.system.abort(self.ref, error)
        elif self._may_restart():
            self._wind_down(self._back_off)
            return
        self._error = error
        self._wind_down(self._finish)

    def _may_restart(self) -> bool:
        supervision = self._supervision
        now_ns = self.dispatcher.now_ns()
        since_ns = now_ns - int(supervision.within_s * 1e9)
        self._failed_ns = [at_ns for at_ns in self._failed_ns if at_ns > since_ns]
        if self._is_stop_ordered or len(self._failed_ns) >= supervision.restarts_max:
            return False
        self._failed_ns.append(now_ns)
        return True

    def _back_off(self) -> None:
        self._phase = Phase.BACKING_OFF
        self._let_go()
        # Read after the phase is set, as `order_stop` reads the phase after setting this.
        if self._is_stop_ordered:
            self._finish()
            return
        self._restart_timer = self.dispatcher.call_later(
            self._supervision.delay_s(len(self._failed_ns)), partial(self.signal, self._restart)
        )

    def _restart(self) -> None:
        if self._phase is not Phase.BACKING_OFF:
            return
        self._phase = Phase.NEW
        self._generation += 1
        try:
            self.create()
        except BaseException as error:  # noqa: BLE001 -- counts as a failure of the new life
            self._fail(error)
        else:
            self._start()

    def _stop_instead(self) -> None:
        if self._phase is Phase.BACKING_OFF:
            self._finish()

    def _wind_down(self, then: Callable[[], None]) -> None:
        """Stop the children, last started first, and then do `then`."""
        self._phase = Phase.WINDING_DOWN
        self._then = then
        self._stop_next_child()

    def _stop_next_child(self) -> None:
        if self.children:
            next(reversed(self.children)).stop(block=False)
        elif self._then is not None:
            self._then()

    def child_stopped(self, child: ActorRef[Any], error: BaseException | None) -> None:
        """Let go of a child; fail with it when it left an `error`."""
        self.children.pop(child, None)
        if self._phase is Phase.WINDING_DOWN:
            self._stop_next_child()
        elif error is not None:
            self.answer_for(child, error)
        elif self.actor is not None and self._phase is Phase.RUNNING:
            self._guard(partial(self.actor.on_child_stopped, child))

    def answer_for(self, below: ActorRef[Any], error: BaseException) -> None:
        """Fail because an actor below did, and may not go on."""
        self._fail(ChildFailedError(below.name, error))

    def _finish(self) -> None:
        """End this actor; nothing of it stays but the reference that others hold."""
        self._phase = Phase.STOPPED
        self.system.registry.remove(self.ref)
        self.stopped.set()
        if self.actor is not None and self._error is None:
            self._guard(self.actor.on_stop)
        if self._restart_timer is not None:
            self._restart_timer.cancel()
        self._let_go()
        self._kwargs = {}
        self._then = None
        self.ref._cell = None  # noqa: SLF001 -- others hold it on
        self.mailbox.close(f"{self.ref} stopped before handling the message")
        replies, self._stop_replies = self._stop_replies, []
        for reply in replies:
            if reply is not None:
                reply.set(None)
        if self._parent is not None:
            is_excused = self._is_stop_ordered or not self._supervision.escalate
            error = None if is_excused else self._error
            self._parent.signal(partial(self._parent.child_stopped, self.ref, error))

    def _let_go(self) -> None:
        for timer in list(self._timers):
            timer.cancel()
        self.actor = None

    def _guard(self, hook: Callable[[], object]) -> None:
        """Run a hook whose failure is only logged, as in pykka."""
        try:
            hook()
        except Exception as error:  # noqa: BLE001 -- it must not reach the neighbours
            self.system.report(self.ref, error, False)  # noqa: FBT003 -- not in `on_start`

    def _call_later(self, delay_s: float, turn: Callable[[], None]) -> Timer:
        timer = self.dispatcher.call_later(delay_s, turn)
        timer.owner = self._timers
        if timer.is_pending:
            self._timers[timer] = None
        return timer

    def _tell_own(self, generation: int, make: Callable[[], object]) -> None:
        self.mailbox.put(KeptEnvelope(Own(generation, make)))
