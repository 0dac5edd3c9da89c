from __future__ import annotations

import asyncio

from structlog.testing import CapturingLogger

from framework.server.stopping import StopSteps


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
