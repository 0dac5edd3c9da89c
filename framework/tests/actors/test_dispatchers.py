"""What each dispatcher of production has for itself."""

from __future__ import annotations

import asyncio
import random
import threading

import pytest

from framework.actors import (
    ActorSystem,
    AsyncioDispatcher,
    BlockingCallError,
    Component,
    Reply,
)
from framework.actors.limits import TURN_NS_MAX, TURNS_IN_A_ROW_MAX
from framework.actors.workers import Workers


def test_turns_keep_their_order_and_run_in_the_thread_of_the_loop():
    async def main():
        dispatcher, ran, done = AsyncioDispatcher(), [], Reply()
        for number in range(3 * TURNS_IN_A_ROW_MAX):
            dispatcher.call_soon(lambda number=number: ran.append(number))
        dispatcher.call_soon(lambda: done.set(threading.get_ident()))
        thread_id = await done
        dispatcher.close()
        return ran, thread_id

    ran, thread_id = asyncio.run(main())

    assert ran == list(range(3 * TURNS_IN_A_ROW_MAX))
    assert thread_id == threading.get_ident()


def test_many_turns_let_the_sockets_have_theirs():
    async def main():
        dispatcher, seen, done = AsyncioDispatcher(), [], Reply()
        ran = []
        for number in range(3 * TURNS_IN_A_ROW_MAX):
            dispatcher.call_soon(lambda number=number: ran.append(number))
        asyncio.get_running_loop().call_soon(lambda: seen.append(len(ran)))
        dispatcher.call_soon(lambda: done.set(None))
        await done
        dispatcher.close()
        return seen

    assert asyncio.run(main()) == [TURNS_IN_A_ROW_MAX]


def test_a_turn_that_raises_goes_to_the_loops_handler_and_the_others_run():
    async def main():
        dispatcher, errors, done = AsyncioDispatcher(), [], Reply()
        asyncio.get_running_loop().set_exception_handler(
            lambda _loop, context: errors.append(str(context["exception"]))
        )
        dispatcher.call_soon(lambda: (_ for _ in ()).throw(ValueError("turn")))
        dispatcher.call_soon(lambda: done.set(None))
        await done
        dispatcher.close()
        return errors

    assert asyncio.run(main()) == ["turn"]


def test_a_turn_that_holds_the_loop_too_long_is_reported_with_its_actor():
    now = [0]
    reported = []

    class Sluggard(Component):
        def on_receive(self, held_ns):
            now[0] += held_ns

    async def main():
        dispatcher = AsyncioDispatcher(
            report_slow=lambda name, held_ns: reported.append((name, held_ns)),
            clock_ns=lambda: now[0],
        )
        system = ActorSystem(dispatcher)
        slow, quick = (system.spawn(Sluggard, name=name) for name in ("slow", "quick"))
        slow.tell(TURN_NS_MAX)
        quick.tell(1)
        await quick.ask(1, block=False)
        slow.tell(TURN_NS_MAX + 1)
        quick.tell(2)
        await slow.ask(0, block=False)
        await system.stop(1)
        dispatcher.close()

    asyncio.run(main())

    assert reported == [("slow", TURN_NS_MAX + 1)]


def test_a_coroutine_in_the_loop_may_not_block_either():
    async def main():
        dispatcher = AsyncioDispatcher()
        system = ActorSystem(dispatcher)
        ref = system.spawn(Component)
        with pytest.raises(BlockingCallError):
            ref.ask("?")
        await system.stop(20)
        dispatcher.close()

    asyncio.run(main())


def test_an_earlier_timer_moves_the_alarm_forward():
    async def main():
        dispatcher, done = AsyncioDispatcher(), Reply()
        dispatcher.call_later(60.0, lambda: done.set("late"))
        dispatcher.call_later(0.001, lambda: done.set("early"))
        outcome = await done
        assert dispatcher.timer_count == 1
        dispatcher.close()
        return outcome, dispatcher.timer_count

    assert asyncio.run(main()) == ("early", 0)


def test_a_closed_loop_takes_turns_silently():
    async def main():
        return AsyncioDispatcher()

    dispatcher = asyncio.run(main())
    thread = threading.Thread(target=dispatcher.call_soon, args=(print,))
    thread.start()
    thread.join()
    dispatcher.close()


def test_the_rng_may_be_given():
    rng = random.Random(1)
    loop = asyncio.new_event_loop()
    dispatcher = AsyncioDispatcher(loop, rng=rng)

    assert ActorSystem(dispatcher).rng is rng
    dispatcher.close()
    loop.close()


def test_workers_say_when_they_did_not_end_in_time():
    release, workers = threading.Event(), Workers(1, "test")
    workers.submit(release.wait)

    assert workers.close(0.0) is False
    release.set()
    workers.submit(print)


def test_workers_finish_what_they_were_given():
    done, workers = [], Workers(2, "test")
    for number in range(20):
        workers.submit(lambda number=number: done.append(number))

    assert workers.close(20.0) is True
    assert sorted(done) == list(range(20))
