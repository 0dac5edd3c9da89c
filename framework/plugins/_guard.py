"""Every call of a plugin's code: timed, counted, and blamed on the plugin when it fails."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from inspect import isawaitable
from types import CoroutineType, coroutine
from typing import TYPE_CHECKING, Any

from framework.errors import PluginError
from framework.plugins._places import definition_of, line_of
from framework.plugins._usage import Usage
from framework.plugins.limits import HOLD_NS_MAX

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator

    from structlog.typing import FilteringBoundLogger

    from framework.plugins._usage import CallCounters


class Guard:
    """Calls code of plugins for the rest of the server.

    Args:
        home: Returns the package or module of a plugin's code, by the plugin's name.
        now_ns: A clock that never goes back.
    """

    def __init__(
        self, home: Callable[[str], str], *, now_ns: Callable[[], int] = time.perf_counter_ns
    ) -> None:
        self.usage = Usage()
        self._home = home
        self._now_ns = now_ns
        self._log: FilteringBoundLogger | None = None

    def log_to(self, log: FilteringBoundLogger) -> None:
        """Say in `log` from now on what fails and what takes too long."""
        self._log = log

    def call(
        self,
        plugin: str,
        what: str,
        function: Callable[..., Any],
        *arguments: object,
        passes: tuple[type[Exception], ...] = (),
        is_secret: bool = False,
    ) -> Any:
        """Call a plugin's function and return its answer; a generator is read to its end.

        Args:
            plugin: Its name.
            what: What is called, such as `framework_taps` or `tap audit`.
            function: A plain one.
            arguments: For it.
            passes: What it may raise; that is no failure.
            is_secret: Its errors may repeat what a client has sent, so their text is not shown.

        Raises:
            PluginError: It failed, or is `async def`.
        """
        counters = self.usage.counters(plugin, what)
        counters.calls += 1
        began_ns = self._now_ns()
        try:
            answer = function(*arguments)
            # A generator fails while it is read, which must happen in here.
            answer = tuple(answer) if isinstance(answer, Iterator) else answer
            self._refuse_coroutine(plugin, what, function, answer)
        except passes:
            raise
        except PluginError:
            counters.failures += 1
            raise
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises, it is the plugin's
            counters.failures += 1
            blamed = self.blame(plugin, what, error, function, is_secret=is_secret)
            raise blamed from (None if is_secret else error)
        finally:
            self._note_time(plugin, what, counters, began_ns)
        return answer

    async def wait(
        self,
        plugin: str,
        what: str,
        function: Callable[..., Awaitable[Any]],
        *arguments: object,
        passes: tuple[type[Exception], ...] = (),
    ) -> Any:
        """Call a plugin's `async def`, await it, and return its answer.

        What it is timed for are the parts in which it holds the loop, not its waits.

        Args:
            plugin: See `call`.
            what: See `call`.
            function: Returns something that can be awaited.
            arguments: For it.
            passes: See `call`.

        Raises:
            PluginError: It failed, or returned something else.
        """
        counters = self.usage.counters(plugin, what)
        counters.calls += 1
        began_ns = self._now_ns()
        try:
            waiting = function(*arguments)
            self._note_time(plugin, what, counters, began_ns)
            if isinstance(waiting, CoroutineType):
                return await self._timed(waiting, partial(self._note_time, plugin, what, counters))
            self._refuse_plain(plugin, what, function, waiting)
            return await waiting
        except passes:
            raise
        except PluginError:
            counters.failures += 1
            raise
        except Exception as error:
            counters.failures += 1
            raise self.blame(plugin, what, error, function) from error

    def guarded(
        self,
        plugin: str,
        what: str,
        function: Callable[..., Any],
        *,
        passes: tuple[type[Exception], ...] = (),
    ) -> Callable[..., Any]:
        """Return what calls `function`, logs its failures, and raises them as PluginError."""

        def call(*arguments: object) -> Any:
            try:
                return self.call(plugin, what, function, *arguments, passes=passes)
            except PluginError as error:
                self.report(what, error)
                raise

        return call

    def guarded_async(
        self,
        plugin: str,
        what: str,
        function: Callable[..., Awaitable[Any]],
        *,
        passes: tuple[type[Exception], ...] = (),
    ) -> Callable[..., Awaitable[Any]]:
        """Return what awaits `function`, logs its failures, and raises them as PluginError."""

        async def wait(*arguments: object) -> Any:
            try:
                return await self.wait(plugin, what, function, *arguments, passes=passes)
            except PluginError as error:
                self.report(what, error)
                raise

        return wait

    def blame(
        self,
        plugin: str,
        what: str,
        error: BaseException,
        function: object = None,
        *,
        is_secret: bool = False,
    ) -> PluginError:
        """Return the error of a plugin that says in which line of its code another one arose.

        Args:
            plugin: Its name.
            what: What has failed.
            error: As it was raised.
            function: What was called; its first line, when the error came before any other.
            is_secret: See `call`.
        """
        place = line_of(error, self._home(plugin)) or definition_of(function)
        text = type(error).__name__ if is_secret else f"{type(error).__name__}: {error}"
        return PluginError(plugin, f"{what} failed: {text}", origin=place)

    def report(
        self, what: str, error: PluginError, log: FilteringBoundLogger | None = None
    ) -> None:
        """Write a failure to the log; with its traceback when it is the first of its sort."""
        log = log or self._log
        if log is None:
            return
        first = self.usage.counters(error.plugin, what).failures == 1
        fields = {"exc_info": error.__cause__} if first and error.__cause__ else {}
        log.error(
            "Plugin {plugin} failed in {hook} ({path}): {error}",
            plugin=error.plugin,
            hook=what,
            path=error.origin,
            error=error.problem,
            **fields,
        )

    def fail(
        self, plugin: str, what: str, problem: str, function: object, fix: str = ""
    ) -> PluginError:
        """Count and log a wrong answer of a plugin's function, and return the error to raise."""
        error = PluginError(plugin, problem, origin=definition_of(function), fix=fix)
        self.usage.counters(plugin, what).failures += 1
        self.report(what, error)
        return error

    def _note_time(self, plugin: str, what: str, counters: CallCounters, began_ns: int) -> None:
        now_ns = self._now_ns()
        held_ns = now_ns - began_ns
        counters.add_time(held_ns)
        if held_ns > HOLD_NS_MAX and self._log is not None and counters.may_log_slow(now_ns):
            text = "Plugin {plugin} held up the server for {detail} in {hook}"
            self._log.warning(text, plugin=plugin, hook=what, detail=f"{held_ns // 1_000_000} ms")

    @coroutine
    def _timed(
        self, work: Coroutine[Any, Any, Any], note: Callable[[int], None]
    ) -> Generator[Any, Any, Any]:
        """Drive `work`, and tell `note` of each part between two waits when it began."""
        resume, sent = work.send, None
        while True:
            began_ns = self._now_ns()
            try:
                waiting = resume(sent)
            except StopIteration as done:
                return done.value
            finally:
                note(began_ns)
            try:
                resume, sent = work.send, (yield waiting)
            except BaseException as error:  # noqa: BLE001 - such as the cancellation of a task
                resume, sent = work.throw, error

    def _refuse_coroutine(self, plugin: str, what: str, function: object, answer: object) -> None:
        if isinstance(answer, CoroutineType):
            answer.close()
            problem = f"{what} is `async def`, and nothing awaits it"
            fix = "use `def`, and tell an actor what is to be done"
            raise PluginError(plugin, problem, origin=definition_of(function), fix=fix)

    def _refuse_plain(self, plugin: str, what: str, function: object, answer: object) -> None:
        if not isawaitable(answer):
            problem = f"{what} must be `async def`; it returned {type(answer).__name__}"
            raise PluginError(plugin, problem, origin=definition_of(function))
