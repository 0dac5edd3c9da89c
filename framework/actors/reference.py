"""`ActorRef`: tell and ask an actor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, overload

import pykka
from typing_extensions import TypeVar, override

from framework.actors._pykka import Envelope
from framework.actors.reply import Reply, derive

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.actors._cell import Cell
    from framework.actors.mailbox import Mailbox

A = TypeVar("A", bound=pykka.Actor, default=Any)


class StopFlag:
    """The two methods of `threading.Event` that actors use, at a tenth of its memory."""

    __slots__ = ("_is_set",)

    def __init__(self) -> None:
        self._is_set = False

    def is_set(self) -> bool:
        """Return whether the actor has stopped."""
        return self._is_set

    def set(self) -> None:
        """Say that the actor has stopped."""
        self._is_set = True


class ActorRef(pykka.ActorRef[A], Generic[A]):
    """A reference to an actor; stays valid over restarts. All methods are callable from any thread.

    `tell`, `ask`, `stop` and `proxy` are pykka's. An `ask` that blocks where its answer can come
    only if the caller returns (a handler, the loop's thread) raises `BlockingCallError`.
    """

    actor_inbox: Mailbox

    def __init__(self, cell: Cell[Any], actor_class: type[A], actor_urn: str, name: str) -> None:
        self._cell: Cell[Any] | None = cell  # until the actor has ended: no cycle outlives it
        self._dispatcher = cell.dispatcher
        self.actor_class = actor_class
        self.actor_urn = actor_urn
        self.actor_inbox = cell.mailbox
        self.actor_stopped = cell.stopped  # type: ignore[assignment] # see StopFlag
        self.name = name
        """Unique among the living actors of the system."""

    def watch_pressure(self, callback: Callable[[bool], None] | None) -> None:
        """Call `callback(True)` when the mailbox is 3/4 full, `callback(False)` back at 1/4.

        It runs where the put or the turn runs that crossed the mark; it must not raise or block.
        """
        self.actor_inbox.watch_pressure(callback)

    @override
    def tell(self, message: Any) -> None:
        if self.actor_stopped.is_set():
            raise pykka.ActorDeadError(f"{self} not found")
        self.actor_inbox.put(message)

    @overload
    def ask(
        self, message: Any, *, block: Literal[False], timeout: float | None = None
    ) -> Reply[Any]: ...

    @overload
    def ask(self, message: Any, *, block: Literal[True], timeout: float | None = None) -> Any: ...

    @overload
    def ask(
        self, message: Any, *, block: bool = True, timeout: float | None = None
    ) -> Any | Reply[Any]: ...

    @override
    def ask(
        self, message: Any, *, block: bool = True, timeout: float | None = None
    ) -> Any | Reply[Any]:
        reply = Reply[Any](self._dispatcher)
        if self.actor_stopped.is_set():
            self._answer_dead(reply)
        else:
            self.actor_inbox.put(Envelope(message, reply_to=reply))
        return reply.get(timeout=timeout) if block else reply

    @overload
    def stop(self, *, block: Literal[True], timeout: float | None = None) -> bool: ...

    @overload
    def stop(self, *, block: Literal[False], timeout: float | None = None) -> Reply[bool]: ...

    @overload
    def stop(self, *, block: bool = True, timeout: float | None = None) -> bool | Reply[bool]: ...

    @override
    def stop(self, *, block: bool = True, timeout: float | None = None) -> bool | Reply[bool]:
        answer = Reply[None](self._dispatcher)
        cell = self._cell
        if cell is None or self.actor_stopped.is_set():
            self._answer_dead(answer)
        else:
            cell.order_stop(answer)

        def was_alive(timeout: float | None) -> bool:
            try:
                answer.get(timeout=timeout)
            except pykka.ActorDeadError:
                return False
            return True

        reply = derive((answer,), was_alive)
        return reply.get(timeout=timeout) if block else reply

    def _answer_dead(self, reply: Reply[Any]) -> None:
        reply.set_exception((pykka.ActorDeadError, pykka.ActorDeadError(f"{self} not found"), None))

    @override
    def _actor_weakref(self) -> A | None:  # type: ignore[override] # only ever called
        """Return the object behind this reference, as pykka's proxies ask for it."""
        return self._cell.actor if self._cell is not None else None
