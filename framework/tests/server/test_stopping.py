from __future__ import annotations

import asyncio
import threading

import pytest
from structlog.testing import CapturingLogger

from framework.server.stopping import StopSteps, call_in_thread


def test_steps_are_undone_in_reverse_and_a_failure_stops_none() -> None:
    log, done = CapturingLogger(), []

    async def never() -> None:
        done.append("never")
        await asyncio.Event().wait()

    async def soon() -> None:
        done.append("soon")

    def fail() -> None:
        done.append("fail")
        raise OSError("no")

    async def go() -> tuple[int, int]:
        steps = StopSteps(log=log, deadline_s=0.01)
        steps.push("first", lambda: done.append("first"))
        steps.push("never", never)
        steps.push("fail", fail)
        steps.push("soon", soon)
        return await steps.run(), await steps.run()

    assert asyncio.run(go()) == (2, 0)
    assert done == ["soon", "fail", "never", "first"]
    assert [call.kwargs["component"] for call in log.calls] == ["fail", "never"]


def test_a_call_in_a_thread_raises_what_it_raised_and_leaves_no_thread_of_asyncio():
    def fail(number: int) -> None:
        raise ValueError(number, threading.current_thread().daemon)

    async def run() -> None:
        await call_in_thread(seen.append, 1)
        with pytest.raises(ValueError, match=r"2, True"):
            await call_in_thread(fail, 2)
        assert not any("asyncio" in thread.name for thread in threading.enumerate())

    seen: list[int] = []
    asyncio.run(run())

    assert [1] == seen


def test_a_call_that_takes_too_long_is_left_behind():
    over = threading.Event()

    async def run() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await call_in_thread(lambda: over.wait(10) and None)
        over.set()

    asyncio.run(run())
