"""Calls of plugins' code: counted, timed, and blamed on the plugin when they fail."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
import structlog
from structlog.testing import capture_logs

from framework.errors import BadQuery, PluginError
from framework.plugins._guard import Guard
from framework.plugins.limits import HOLD_NS_MAX, SLOW_CALLS_LOGGED_EVERY_NS


class Clock:
    """Time passes only when a test says so."""

    def __init__(self):
        self.now_ns = 1

    def __call__(self):
        return self.now_ns

    def pass_ns(self, duration_ns):
        self.now_ns += duration_ns


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def guard(clock):
    guard = Guard(lambda _: __name__, now_ns=clock)
    guard.log_to(structlog.get_logger())
    return guard


async def turn():
    """Let every task go as far as it can at once."""
    over = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(over.set_result, None)
    await over


def fail(*_):
    raise ValueError("no luck")


FAIL_PLACE = f"{__file__}:{fail.__code__.co_firstlineno + 1}"


def counters(guard, what="it"):
    found = guard.usage.of("p")[what]
    return found.calls, found.failures, found.busy_ns, found.longest_ns


def test_calls_are_counted_and_timed(guard, clock):
    for duration_ns in (5, 20, 10):
        assert guard.call("p", "it", clock.pass_ns, duration_ns) is None

    assert counters(guard) == (3, 0, 35, 20)


def test_a_failure_names_the_line_and_is_counted(guard):
    with pytest.raises(PluginError) as caught:
        guard.call("p", "it", fail)

    assert str(caught.value) == f"plugin p ({FAIL_PLACE}): it failed: ValueError: no luck"
    assert isinstance(caught.value.__cause__, ValueError)
    assert counters(guard)[:2] == (1, 1)


def test_a_secret_is_not_repeated(guard):
    with pytest.raises(PluginError) as caught:
        guard.call("p", "it", fail, is_secret=True)

    assert str(caught.value) == f"plugin p ({FAIL_PLACE}): it failed: ValueError"
    assert caught.value.__cause__ is None


def test_what_was_called_wrongly_is_named_by_its_first_line(guard):
    def narrow():
        raise AssertionError

    with pytest.raises(PluginError) as caught:
        guard.call("p", "it", narrow, 1)

    assert caught.value.origin == f"{__file__}:{narrow.__code__.co_firstlineno}"


def test_what_may_be_raised_passes(guard):
    def refuse(_):
        raise BadQuery("no")

    with pytest.raises(BadQuery):
        guard.guarded("p", "it", refuse, passes=(BadQuery,))(1)

    assert counters(guard)[:2] == (1, 0)


def test_what_is_never_awaited_is_refused(guard):
    async def wait():
        raise AssertionError

    with pytest.raises(PluginError, match="it is `async def`, and nothing awaits it"):
        guard.call("p", "it", wait)


def test_only_the_first_failure_comes_with_its_traceback(guard):
    call = guard.guarded("p", "it", fail)
    with capture_logs() as logs:
        for _ in range(2):
            with contextlib.suppress(PluginError):
                call()

    assert ["exc_info" in log for log in logs] == [True, False]
    assert [log["path"] for log in logs] == [FAIL_PLACE] * 2


def test_who_holds_the_loop_too_long_is_logged_once_in_a_while(guard, clock):
    with capture_logs() as logs:
        guard.call("p", "it", clock.pass_ns, HOLD_NS_MAX)
        guard.call("p", "it", clock.pass_ns, HOLD_NS_MAX + 23_000_000)
        guard.call("p", "it", clock.pass_ns, HOLD_NS_MAX + 1)
        clock.pass_ns(SLOW_CALLS_LOGGED_EVERY_NS)
        guard.call("p", "it", clock.pass_ns, 4 * HOLD_NS_MAX)

    assert [(log["plugin"], log["hook"], log["detail"]) for log in logs] == [
        ("p", "it", "123 ms"),
        ("p", "it", "400 ms"),
    ]
    assert {log["event"] for log in logs} == {
        "Plugin {plugin} held up the server for {detail} in {hook}"
    }


def test_waits_are_not_held_against_whoever_awaits(guard, clock):
    async def answer(query):
        clock.pass_ns(3)
        gate = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(clock.pass_ns, 10 * HOLD_NS_MAX)
        asyncio.get_running_loop().call_soon(gate.set_result, None)
        await gate
        clock.pass_ns(4)
        return query

    with capture_logs() as logs:
        assert asyncio.run(guard.wait("p", "it", answer, "q")) == "q"

    assert counters(guard) == (1, 0, 7, 4)
    assert logs == []


def test_a_failure_after_a_wait_is_the_plugins_too(guard):
    async def answer():
        await turn()
        fail()

    with pytest.raises(PluginError, match="it failed: ValueError: no luck"):
        asyncio.run(guard.wait("p", "it", answer))

    assert counters(guard)[:2] == (1, 1)


def test_a_wait_can_be_cancelled(guard):
    ended = []

    async def answer():
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append(True)

    async def run():
        task = asyncio.ensure_future(guard.guarded_async("p", "it", answer)())
        await turn()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(run())

    assert ended == [True]
    assert counters(guard)[:2] == (1, 0)


def test_a_future_will_do_where_an_answer_is_awaited(guard):
    async def run():
        done = asyncio.get_running_loop().create_future()
        done.set_result(7)
        return await guard.wait("p", "it", lambda: done)

    assert asyncio.run(run()) == 7


def test_what_cannot_be_awaited_is_refused(guard):
    with pytest.raises(PluginError, match="it must be `async def`; it returned dict"):
        asyncio.run(guard.wait("p", "it", dict))
