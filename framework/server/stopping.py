"""Stop in reverse order of the start, with a deadline for each step."""

from __future__ import annotations

import asyncio
import inspect
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from structlog.typing import FilteringBoundLogger


P = ParamSpec("P")
T = TypeVar("T")


async def call_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what a call returns on a thread of its own, which ends with it.

    The threads of `asyncio.to_thread` stay, so that the end of the loop has to wait for them, by
    one thread more: a millisecond in which clients see the server gone and its process is there.
    """
    outcome: Future[T] = Future()
    outcome.set_running_or_notify_cancel()

    def call() -> None:
        try:
            outcome.set_result(function(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - it is raised where the call is awaited
            outcome.set_exception(error)

    threading.Thread(target=call, name="stop", daemon=True).start()
    return await asyncio.wrap_future(outcome)


class StopSteps:
    """Steps that undo a start, run last first.

    Args:
        log: Told what went wrong.
        deadline_s: For each step.
    """

    def __init__(self, *, log: FilteringBoundLogger, deadline_s: float) -> None:
        assert deadline_s > 0
        self._log = log
        self._deadline_s = deadline_s
        self._steps: list[tuple[str, Callable[[], Awaitable[object] | object]]] = []

    def push(self, name: str, undo: Callable[[], Awaitable[object] | object]) -> None:
        """Add a step that undoes what was just done."""
        self._steps.append((name, undo))

    async def run(self) -> int:
        """Run all steps, once; return how many failed or took too long."""
        failures = 0
        while self._steps:
            name, undo = self._steps.pop()
            try:
                async with asyncio.timeout(self._deadline_s):
                    result = undo()
                    if inspect.isawaitable(result):
                        await result
            except TimeoutError:
                failures += 1
                self._log.error("{component} did not stop in time", component=name)
            except Exception as error:  # noqa: BLE001 - the other steps have to be done all the same
                failures += 1
                self._log.error("Stopping {component} failed", component=name, error=repr(error))
        return failures
