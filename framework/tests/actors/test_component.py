"""pykka's documented life of an actor, and what `Component` adds, on every dispatcher."""

from __future__ import annotations

import gc
import weakref

import pykka
import pytest

from framework.actors import (
    ActorSystem,
    BlockingCallError,
    Component,
    MailboxFullError,
    WhenFull,
)


class Life(Component):
    """Writes down the hooks that ran, and tells when it is over."""

    def __init__(self, *, log, over):
        self._log = log
        self._over = over
        self._log.append("init")

    def on_start(self):
        self._log.append("start")

    def on_stop(self):
        self._log.append("stop")
        self._over.set()

    def on_failure(self, exception_type, exception_value, traceback):
        self._log.append(("failure", exception_type, str(exception_value), traceback is not None))
        self._over.set()

    def on_receive(self, message):
        self._log.append(message)
        if message == "fail":
            raise ValueError("why")


def test_the_hooks_of_an_orderly_life(runtime):
    log, over = [], runtime.expect()
    ref = runtime.system.spawn(Life, log=log, over=over)
    ref.tell("message")
    ref.stop(timeout=20)

    assert log == ["init", "start", "message", "stop"]


def test_the_hooks_of_a_life_that_ends_in_a_failure(runtime, logged):
    log, over = [], runtime.expect()
    ref = runtime.system.spawn(Life, log=log, over=over)
    ref.tell("fail")
    runtime.get(over)
    ref.stop(timeout=20)

    assert log == ["init", "start", "fail", ("failure", ValueError, "why", True)]
    assert not ref.is_alive()
    assert [(it.levelname, it.getMessage()) for it in logged.records] == [
        ("ERROR", f"actor failed: {ref.name}")
    ]


@pytest.mark.parametrize("hook", ["on_start", "on_stop"])
def test_a_hook_that_raises_is_logged_and_the_actor_stops(runtime, logged, hook):
    def fail(self):
        raise ValueError(hook)

    failures = []
    component = type(
        "Failing", (Component,), {hook: fail, "on_failure": lambda *args: failures.append(args)}
    )
    ref = runtime.system.spawn(component)
    ref.stop(timeout=20)

    assert not ref.is_alive()
    assert failures == []
    assert [it.msg for it in logged.records] == ["actor failed: %s"]


def test_an_on_failure_that_raises_is_logged_too(runtime, logged):
    class Clumsy(Component):
        def on_failure(self, *_args):
            raise ValueError("second")

        def on_receive(self, _message):
            raise ValueError("first")

    ref = runtime.system.spawn(Clumsy)
    ref.tell("go")
    ref.stop(timeout=20)

    assert [str(it.exc_info[1]) for it in logged.records] == ["first", "second"]


def test_an_init_that_raises_tells_the_spawner_and_leaves_nothing(runtime):
    class Broken(Component):
        def __init__(self):
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        runtime.system.spawn(Broken, name="broken")
    assert runtime.system.registry.get_all() == []


def test_stopping_oneself(runtime):
    class Quitter(Component):
        def on_receive(self, message):
            self.stop()
            return message

    ref = runtime.system.spawn(Quitter)

    assert ref.ask("last", timeout=20) == "last"
    ref.stop(timeout=20)
    assert not ref.is_alive()


def test_a_message_that_nobody_handles_does_no_harm(runtime):
    ref = runtime.system.spawn(Component)

    assert ref.ask("anything", timeout=20) is None
    assert ref.is_alive()


def test_an_exit_in_a_handler_stops_this_system_and_no_other(runtime, logged):
    class Exiting(Component):
        def on_receive(self, _message):
            raise SystemExit(3)

    failures = []
    doomed = ActorSystem(runtime.dispatcher, name="doomed", on_failure=failures.append)
    neighbour, ref = doomed.spawn(Component), doomed.spawn(Exiting)
    other = runtime.system.spawn(Component)
    with pytest.raises(pykka.ActorDeadError):
        ref.ask("go", timeout=20)
    runtime.get(doomed.stop(20))

    assert not neighbour.is_alive()
    assert other.is_alive()
    assert [type(failure.__cause__) for failure in failures] == [SystemExit]
    assert logged.records


def test_proxies_call_get_set_and_defer(runtime):
    class Player(Component):
        def __init__(self):
            self.volume = 3
            self._hidden = 1

        def louder(self, by, *, times=1):
            self.volume += by * times
            return self.volume

        def fail(self):
            raise ValueError("why")

    ref = runtime.system.spawn(Player)
    proxy = ref.proxy()

    assert runtime.get(proxy.volume) == 3
    assert runtime.get(proxy.louder(2, times=2)) == 7
    proxy.volume = 1
    proxy.louder.defer(1)
    assert runtime.get(proxy.volume) == 2
    with pytest.raises(ValueError, match="why"):
        runtime.get(proxy.fail())
    with pytest.raises(AttributeError):
        _ = proxy.nothing
    with pytest.raises(AttributeError):
        _ = proxy._hidden
    assert runtime.get(ref.stop(block=False))
    with pytest.raises(pykka.ActorDeadError):
        runtime.get(proxy.volume)


def test_proxies_reach_through_traversable_attributes(runtime):
    class Playback:
        def play(self):
            return "playing"

    class Player(Component):
        def __init__(self):
            self.playback = pykka.traversable(Playback())

    assert runtime.get(runtime.system.spawn(Player).proxy().playback.play()) == "playing"


def test_a_deferred_call_that_raises_is_the_actors_failure(runtime, logged):
    class Player(Component):
        def fail(self):
            raise ValueError("why")

    ref = runtime.system.spawn(Player)
    ref.proxy().fail.defer()
    ref.stop(timeout=20)

    assert [it.msg for it in logged.records] == ["actor failed: %s"]


def test_pykkas_own_start_says_where_an_actor_lives():
    with pytest.raises(TypeError, match=r"system\.spawn\(Component"):
        Component.start()


def test_batches_keep_the_order_and_leave_asks_at_their_place(runtime):
    class Batcher(Component):
        def __init__(self):
            self.events = []

        def on_batch(self, messages):
            self.events.append(list(messages))

        def on_receive(self, message):
            self.events.append(message)
            return self.events

    class Feeder(Component):
        """Sends all of it in one turn."""

        def on_receive(self, ref):
            for number in range(100):
                ref.tell(number)
            reply = ref.ask("asked", block=False)
            ref.tell("after")
            return reply

    ref = runtime.system.spawn(Batcher)
    runtime.get(runtime.system.spawn(Feeder).ask(ref, timeout=20))
    events = ref.ask("last", timeout=20)

    asked = events.index("asked")
    assert [number for batch in events[:asked] for number in batch] == list(range(100))
    assert events[asked + 1 :] == [["after"], "last"]
    assert asked == 1


def test_a_batch_that_raises_fails_the_actor(runtime, logged):
    class Batcher(Component):
        def on_batch(self, messages):
            raise ValueError(len(messages))

    ref = runtime.system.spawn(Batcher)
    ref.tell(1)
    ref.stop(timeout=20)

    assert [it.msg for it in logged.records] == ["actor failed: %s"]


def test_the_default_batch_handles_message_by_message(runtime):
    class Single(Component):
        def __init__(self):
            self.heard = []

        def on_batch(self, messages):
            super().on_batch(messages)

        def on_receive(self, message):
            self.heard.append(message)
            return self.heard

    ref = runtime.system.spawn(Single)
    ref.tell(1)
    ref.tell(2)

    assert ref.ask(3, timeout=20) == [1, 2, 3]


def test_a_timer_tells_cancels_and_resets(runtime):
    class Clocked(Component):
        def __init__(self, *, done):
            self._done = done
            self._heard = []

        def on_start(self):
            self.tell_later(0.001, "cancelled").cancel()
            self._moved = self.tell_later(60.0, "moved")
            self._moved.reset(0.002)
            self.tell_later(0.004, "last")
            self.tell_later(60.0, "ends with the actor")

        def on_receive(self, message):
            self._heard.append(message)
            if message == "last":
                self._done.set(self._heard)

    done = runtime.expect()
    runtime.system.spawn(Clocked, done=done)

    assert runtime.get(done) == ["moved", "last"]


@pytest.mark.parametrize("verb", ["cancel", "reset"])
def test_a_timer_that_has_fired_is_still_in_time_to_be_taken_back(simulated, verb):
    class Hesitant(Component):
        TURN_MESSAGES_MAX = 1

        def __init__(self):
            self.heard = []

        def on_start(self):
            self._first = self.tell_later(1.0, "first")
            self._second = self.tell_later(1.0, "second")

        def on_receive(self, message):
            self.heard.append(message)
            if message == "first":
                self._second.cancel() if verb == "cancel" else self._second.reset(5.0)

    ref = ActorSystem(simulated).spawn(Hesitant)
    simulated.run_for(2.0)
    assert ref.proxy().heard.get() == ["first"]
    simulated.run_for(5.0)

    assert ref.proxy().heard.get() == (["first"] if verb == "cancel" else ["first", "second"])


@pytest.mark.parametrize("ends", ["fires", "is cancelled"])
def test_a_timer_that_has_ended_holds_no_message(simulated, ends):
    class Message:
        pass

    held = weakref.WeakSet()

    class Clocked(Component):
        def on_start(self):
            message = Message()
            held.add(message)
            timer = self.tell_later(1.0, message)
            if ends == "is cancelled":
                timer.cancel()

        def on_receive(self, message):
            assert isinstance(message, Message)

    gc.disable()
    try:
        ActorSystem(simulated).spawn(Clocked)
        simulated.run_for(0.5)
        assert len(held) == (ends == "fires")
        simulated.run_for(2.0)

        assert not held
    finally:
        gc.enable()


def test_a_timer_reaches_a_batch_handler_as_a_batch(runtime):
    class Clocked(Component):
        def __init__(self, *, done):
            self._done = done

        def on_start(self):
            self.tell_later(0.001, "tick")

        def on_batch(self, messages):
            self._done.set(messages)

    done = runtime.expect()
    runtime.system.spawn(Clocked, done=done)

    assert runtime.get(done) == ["tick"]


def test_blocking_work_answers_by_message(runtime):
    class Worker(Component):
        def __init__(self, *, done):
            self._done = done
            self._answers = []

        def on_start(self):
            self.run_blocking(divmod, 7, 2, answer=lambda outcome: ("first", outcome))
            self.run_blocking(divmod, 7, 0, answer=lambda outcome: ("second", type(outcome)))

        def on_receive(self, message):
            self._answers.append(message)
            if len(self._answers) == 2:
                self._done.set(sorted(self._answers))

    done = runtime.expect()
    runtime.system.spawn(Worker, done=done)

    assert runtime.get(done) == [("first", (3, 1)), ("second", ZeroDivisionError)]


def test_an_answer_for_an_actor_that_stopped_is_dropped(runtime):
    class Hasty(Component):
        def on_start(self):
            self.run_blocking(divmod, 7, 2, answer=lambda outcome: outcome)
            self.stop()

    ref = runtime.system.spawn(Hasty)
    ref.stop(timeout=20)

    assert not ref.is_alive()


def test_asking_and_being_told(runtime):
    class Slow(Component):
        def on_receive(self, message):
            match message:
                case "double":
                    return 42
                case "fail":
                    raise ValueError("why")
                case _:
                    return None

    class Asker(Component):
        def __init__(self, *, other, dead, done):
            self._refs = (other, dead)
            self._done = done
            self._answers = []

        def on_start(self):
            other, dead = self._refs
            self.ask(other, "double", answer=lambda outcome: ("double", outcome), deadline_s=60.0)
            self.ask(other, "fail", answer=lambda outcome: ("fail", type(outcome)))
            self.ask(dead, "double", answer=lambda outcome: ("dead", type(outcome)))

        def on_receive(self, message):
            self._answers.append(message)
            if len(self._answers) == 3:
                self._done.set(sorted(self._answers, key=lambda answer: answer[0]))

    other, dead = runtime.system.spawn(Slow), runtime.system.spawn(Slow)
    dead.stop(timeout=20)
    done = runtime.expect()
    runtime.system.spawn(Asker, other=other, dead=dead, done=done)

    assert runtime.get(done) == [
        ("dead", pykka.ActorDeadError),
        ("double", 42),
        ("fail", ValueError),
    ]


def test_an_answer_after_its_deadline_is_told_once_as_a_timeout(runtime):
    class Asker(Component):
        def __init__(self, *, done):
            self._done = done
            self._outcomes = []

        def on_start(self):
            self.ask(self.actor_ref, "question", answer=self._outcomes.append, deadline_s=0.0)
            self.tell_later(0.01, "judge")

        def on_receive(self, message):
            if message == "judge":
                self._done.set(len(self._outcomes))
            return message

    done = runtime.expect()
    runtime.system.spawn(Asker, done=done)

    assert runtime.get(done) == 1


def test_an_answer_that_cannot_be_made_fails_the_actor(runtime, logged):
    class Asker(Component):
        def __init__(self, *, over):
            self._over = over

        def on_start(self):
            self.run_blocking(int, answer=lambda outcome: 1 / outcome)

        def on_failure(self, exception_type, *_args):
            self._over.set(exception_type)

    over = runtime.expect()
    runtime.system.spawn(Asker, over=over)

    assert runtime.get(over) is ZeroDivisionError
    assert [it.msg for it in logged.records] == ["actor failed: %s"]


def test_an_actor_knows_where_it_lives(runtime):
    class Child(Component):
        def on_receive(self, _message):
            return (self.parent, self.system, self.rng, self.now_ns() >= 0)

    class Parent(Component):
        def on_start(self):
            self.spawn(Child, name="child")

        def on_receive(self, _message):
            return (self.parent, list(self.children))

    ref = runtime.system.spawn(Parent, name="parent")
    parent, (child,) = ref.ask("?", timeout=20)

    assert parent is None
    assert child.name == "parent/child"
    assert child.ask("?", timeout=20) == (
        ref,
        runtime.system,
        runtime.dispatcher.rng,
        True,
    )


def test_a_full_mailbox_drops_as_declared(simulated):
    class Small(Component):
        MAILBOX_MAX = 4
        WHEN_FULL = WhenFull.DROP_NEWEST

        def __init__(self):
            self.heard = []

        def on_receive(self, message):
            self.heard.append(message)

    ref = ActorSystem(simulated).spawn(Small)
    for number in range(1, 7):
        ref.tell(number)
    simulated.run_ready()

    assert ref.proxy().heard.get() == [1, 2, 3, 4]
    assert ref.actor_inbox.dropped_count == 2


def test_a_mailbox_that_refuses_raises_to_the_sender(simulated):
    class Small(Component):
        MAILBOX_MAX = 1

    ref = ActorSystem(simulated).spawn(Small)
    ref.tell(1)

    with pytest.raises(MailboxFullError):
        ref.tell(2)
    asked = ref.ask(3, block=False)
    with pytest.raises(MailboxFullError):
        asked.get()
    assert ref.stop() is True


def test_pressure_is_told_at_three_quarters_and_back_at_one(simulated):
    class Small(Component):
        MAILBOX_MAX = 8
        TURN_MESSAGES_MAX = 1

    ref, events = ActorSystem(simulated).spawn(Small), []
    ref.watch_pressure(lambda is_high: events.append((is_high, len(ref.actor_inbox))))
    for number in range(8):
        ref.tell(number)
    simulated.run_ready()

    # The callback at 3/4 runs before the seventh message is in, the one at 1/4 after a whole turn.
    assert events == [(True, 6), (False, 2)]


def test_a_blocking_set_through_a_proxy_is_refused_in_a_handler(runtime):
    class Meddler(Component):
        def __init__(self, *, other):
            self._other = other

        def on_receive(self, _message):
            self._other.proxy().value = 1

    meddler = runtime.system.spawn(Meddler, other=runtime.system.spawn(Component))
    with pytest.raises(BlockingCallError):
        meddler.ask("go", timeout=20)
