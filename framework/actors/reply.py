"""The answer to an ask: pykka's future, awaitable in asyncio, and refusing to block a loop."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import pykka
from typing_extensions import override

if TYPE_CHECKING:
    from framework.actors.scheduler import Dispatcher

ExcInfo: TypeAlias = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]

T = TypeVar("T")
J = TypeVar("J")
M = TypeVar("M")
R = TypeVar("R")

# One lock for all replies: it is held for a few bytecodes, and a lock each would double their size.
_settling = threading.Lock()


class Reply(pykka.Future[T]):
    """What an actor will answer.

    Args:
        dispatcher: Runs the actor that answers; None for an answer that any thread may wait for.
    """

    def __init__(self, dispatcher: Dispatcher | None = None) -> None:
        super().__init__()
        self._dispatcher = dispatcher
        self._sources: tuple[Reply[Any], ...] = ()
        self._callbacks: list[Callable[[Reply[T]], None]] = []
        self._is_set = False
        self._value: T | None = None
        self._error: BaseException | None = None
        self._traceback: TracebackType | None = None

    @property
    def is_done(self) -> bool:
        """Whether `get` returns or raises at once."""
        if self._get_hook is not None:
            return all(source.is_done for source in self._sources)
        return self._is_set

    @override
    def get(self, *, timeout: float | None = None) -> T:
        if self._get_hook is not None:
            return super().get(timeout=timeout)
        if not self._is_set:
            if self._dispatcher is None:
                wait_in_thread(self, timeout)
            else:
                self._dispatcher.wait_for(self, timeout)
        if self._error is not None:
            raise self._error.with_traceback(self._traceback)
        return cast("T", self._value)

    def outcome(self) -> T | BaseException:
        """Return what `get` would return or raise."""
        try:
            return self.get()
        except BaseException as error:
            # An exit that the answer holds is returned; one that is meant for this thread goes on.
            if isinstance(error, Exception) or error is self._error:
                return error
            raise

    @override
    def set(self, value: T | None = None) -> None:
        self._settle(value, None)

    @override
    def set_exception(self, exc_info: ExcInfo | None = None) -> None:
        kind, error, traceback = exc_info or sys.exc_info()
        if error is None:
            assert kind is not None, "set_exception() outside of an except block needs an argument"
            error = kind()
        self._settle(None, error, traceback)

    @override
    def set_get_hook(self, func: Callable[[float | None], T]) -> None:
        with _settling:
            self._refuse_second()
            super().set_get_hook(func)

    def when_done(self, callback: Callable[[Reply[T]], None]) -> None:
        """Call `callback` with this reply, now if it is done, else in the turn that answers.

        It must not raise or block. An actor uses `Component.ask` instead, and is told.
        """
        for source in self._sources:
            if not source.is_done:
                source.when_done(lambda _: self.when_done(callback))
                return
        with _settling:
            if not self.is_done:
                self._callbacks.append(callback)
                return
        callback(self)

    @override
    def filter(self: Reply[Iterable[J]], func: Callable[[J], bool]) -> Reply[Iterable[J]]:
        return _derive(super().filter(func), self)

    @override
    def join(self: Reply[Any], *futures: pykka.Future[Any]) -> Reply[Iterable[Any]]:
        replies = [future for future in futures if isinstance(future, Reply)]
        assert len(replies) == len(futures), "an actor's reply joins only actors' replies"
        return _derive(super().join(*futures), self, *replies)

    @override
    def map(self, func: Callable[[T], M]) -> Reply[M]:
        return _derive(super().map(func), self)

    @override
    def reduce(self: Reply[Iterable[J]], func: Callable[[R, J], R], *args: R) -> Reply[R]:
        return _derive(super().reduce(func, *args), self)

    @override
    def __await__(self) -> Generator[Any, None, T]:
        if not self.is_done:
            loop = asyncio.get_running_loop()
            awaited: asyncio.Future[None] = loop.create_future()
            thread_id = threading.get_ident()

            def wake(_: Reply[T]) -> None:
                if threading.get_ident() == thread_id:
                    _finish(awaited)
                    return
                with contextlib.suppress(RuntimeError):  # that loop closed: nobody awaits any more
                    loop.call_soon_threadsafe(_finish, awaited)

            self.when_done(wake)
            yield from awaited
        return self.get()

    __iter__ = __await__

    def _settle(
        self, value: T | None, error: BaseException | None, traceback: TracebackType | None = None
    ) -> None:
        with _settling:
            self._refuse_second()
            self._value, self._error, self._traceback = value, error, traceback
            self._is_set = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def _refuse_second(self) -> None:
        if self._is_set or self._get_hook is not None:
            raise RuntimeError("a reply is answered once")


def wait_in_thread(reply: Reply[Any], timeout_s: float | None) -> None:
    """Block this thread until `reply` is done.

    Raises:
        pykka.Timeout: `timeout_s` seconds passed.
    """
    answered = threading.Event()
    reply.when_done(lambda _: answered.set())
    if not answered.wait(timeout_s):
        raise pykka.Timeout(f"{timeout_s} seconds")


def derive(sources: tuple[Reply[Any], ...], hook: Callable[[float | None], T]) -> Reply[T]:
    """Return the reply that `hook` gives, which may only wait for `sources`."""
    reply = Reply[T]()
    reply.set_get_hook(hook)
    return _derive(reply, *sources)


def _derive(future: pykka.Future[M], *sources: Reply[Any]) -> Reply[M]:
    reply = cast("Reply[M]", future)
    reply._sources = sources  # noqa: SLF001 -- our own class; pykka made the object
    return reply


def _finish(awaited: asyncio.Future[None]) -> None:
    if not awaited.done():
        awaited.set_result(None)
