"""Stop in reverse order of the start, with a deadline for each step."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from structlog.typing import FilteringBoundLogger


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
