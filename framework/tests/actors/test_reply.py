from __future__ import annotations

import asyncio
import threading

import pykka
import pytest

from framework.actors import ActorSystem, AsyncioDispatcher, Component, Reply


class Echo(Component):
    def on_receive(self, message):
        if isinstance(message, Exception):
            raise message
        return message


def test_a_reply_is_answered_once():
    reply = Reply()
    reply.set(1)

    assert reply.get() == reply.get() == 1
    error = (ValueError, None, None)
    for again in (
        lambda: reply.set(2),
        lambda: reply.set_exception(error),
        lambda: reply.set_get_hook(print),
    ):
        with pytest.raises(RuntimeError):
            again()


def test_a_get_hook_answers_once_and_refuses_a_value():
    calls = []
    reply = Reply()
    reply.set_get_hook(lambda timeout: calls.append(timeout) or 5)

    assert reply.get(timeout=3) == reply.get() == 5
    assert calls == [3]
    with pytest.raises(RuntimeError):
        reply.set(1)


def test_an_exception_keeps_its_traceback():
    reply = Reply()
    try:
        int("why")
    except ValueError:
        reply.set_exception()

    for _ in range(2):
        with pytest.raises(ValueError, match="why") as caught:
            reply.get()
        assert "set_exception" in str(caught.traceback[-1].frame.code.fullsource)


def test_an_exception_may_be_given_as_its_class_alone():
    reply = Reply()
    reply.set_exception((KeyError, None, None))

    with pytest.raises(KeyError):
        reply.get()


def test_an_outcome_is_what_get_returns_or_raises():
    value, failure, leaving, interrupted = Reply(), Reply(), Reply(), Reply()
    value.set(1)
    failure.set_exception((KeyError, None, None))
    leaving.set_exception((SystemExit, None, None))

    def interrupt(_timeout):
        raise KeyboardInterrupt

    interrupted.set_get_hook(interrupt)

    assert value.outcome() == 1
    assert isinstance(failure.outcome(), KeyError)
    assert isinstance(leaving.outcome(), SystemExit)
    with pytest.raises(KeyboardInterrupt):
        interrupted.outcome()


def test_callbacks_run_when_it_is_done_or_at_once():
    reply, outcomes = Reply(), []
    reply.when_done(lambda done: outcomes.append(("early", done.get())))
    reply.set(1)
    reply.when_done(lambda done: outcomes.append(("late", done.get())))

    assert outcomes == [("early", 1), ("late", 1)]


def test_a_thread_waits_for_another():
    reply = Reply()
    thread = threading.Thread(target=reply.set, args=(1,))
    thread.start()

    assert reply.get(timeout=20) == 1
    thread.join()


def test_map_filter_join_and_reduce(runtime):
    ref = runtime.system.spawn(Echo)

    def ask(message):
        return ref.ask(message, block=False)

    assert runtime.get(ask(2).map(lambda value: value + 1)) == 3
    assert runtime.get(ask([1, 2, 3]).filter(lambda value: value > 1)) == [2, 3]
    assert runtime.get(ask(1).join(ask(2), ask(3))) == [1, 2, 3]
    assert runtime.get(ask([1, 2]).reduce(lambda left, right: left + right, 10)) == 13
    assert runtime.get(ask([]).reduce(lambda left, right: left + right, 10)) == 10
    assert pykka.get_all([ask(1), ask(2)], timeout=20) == [1, 2]
    with pytest.raises(TypeError):
        runtime.get(ask(1).filter(bool))


def test_replies_of_pykkas_threads_are_not_joined():
    with pytest.raises(AssertionError):
        Reply().join(pykka.Future())


def test_everything_is_awaited_in_the_loop():
    async def main():
        dispatcher = AsyncioDispatcher()
        system = ActorSystem(dispatcher)
        ref = system.spawn(Echo)
        plain = await ref.ask(1, block=False)
        with pytest.raises(ValueError, match="why"):
            await ref.ask(ValueError("why"), block=False)
        mapped = await ref.ask(2, block=False).map(lambda value: value * 2)
        joined = await ref.ask(1, block=False).join(ref.ask(2, block=False))
        gathered = await asyncio.gather(
            *(_awaited(ref.ask(number, block=False)) for number in "ab")
        )
        stopped = await ref.stop(block=False)
        left = await system.stop(20)
        dispatcher.close()
        return plain, mapped, joined, gathered, stopped, left

    assert asyncio.run(main()) == (1, 4, [1, 2], ["a", "b"], True, ())


async def _awaited(reply):
    return await reply


def test_an_await_that_is_given_up_does_no_harm():
    async def main():
        reply = Reply()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(_awaited(reply), 0)
        reply.set(1)
        return await reply

    assert asyncio.run(main()) == 1


def test_an_answer_from_another_thread_wakes_the_loop():
    async def main():
        reply = Reply()
        thread = threading.Thread(target=reply.set, args=(1,))
        asyncio.get_running_loop().call_soon(thread.start)
        value = await reply
        thread.join()
        return value

    assert asyncio.run(main()) == 1


def test_an_answer_after_the_loop_closed_is_kept():
    reply = Reply()

    async def main():
        task = asyncio.ensure_future(_awaited(reply))
        await asyncio.wait([task], timeout=0)
        task.cancel()

    asyncio.run(main())
    thread = threading.Thread(target=reply.set, args=(1,))
    thread.start()
    thread.join()

    assert reply.get() == 1
