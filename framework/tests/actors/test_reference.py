"""pykka's documented behaviour of references, on every dispatcher."""

from __future__ import annotations

import pykka
import pytest

from framework.actors import ActorRef, BlockingCallError, Component


class Echo(Component):
    def __init__(self):
        self.heard = []

    def on_receive(self, message):
        self.heard.append(message)
        if isinstance(message, Exception):
            raise message
        return ("heard", message)


def test_ask_returns_what_the_handler_returns(runtime):
    ref = runtime.system.spawn(Echo)

    assert ref.ask(1, timeout=20) == ("heard", 1)
    assert runtime.get(ref.ask(2, block=False)) == ("heard", 2)


def test_messages_are_handled_in_the_order_of_their_sending(runtime):
    ref = runtime.system.spawn(Echo)
    for number in range(500):
        ref.tell(number)

    assert runtime.get(ref.proxy().heard) == list(range(500))


def test_an_exception_goes_to_the_asker_and_the_actor_lives(runtime, logged):
    ref = runtime.system.spawn(Echo)

    with pytest.raises(ValueError, match="why"):
        ref.ask(ValueError("why"), timeout=20)
    assert ref.ask(1, timeout=20) == ("heard", 1)
    assert [(it.levelname, it.getMessage()) for it in logged.records] == [
        ("INFO", f"actor raised to its caller: {ref.name}")
    ]


def test_stop_handles_what_waits_and_refuses_what_comes_later(runtime):
    class Starter(Component):
        """Sends all of it in one turn, so that it waits together."""

        def on_receive(self, ref):
            before = ref.ask("before", block=False)
            stopped = ref.stop(block=False)
            return before, stopped, ref.ask("after", block=False)

    ref = runtime.system.spawn(Echo)
    starter = runtime.system.spawn(Starter)
    before, stopped, after = starter.ask(ref, timeout=20)

    assert runtime.get(before) == ("heard", "before")
    assert runtime.get(stopped) is True
    with pytest.raises(pykka.ActorDeadError):
        runtime.get(after)
    assert not ref.is_alive()


def test_a_dead_actor_cannot_be_told_asked_or_stopped_again(runtime):
    ref = runtime.system.spawn(Echo)

    assert ref.stop(timeout=20) is True
    assert ref.stop(timeout=20) is False
    assert not ref.is_alive()
    with pytest.raises(pykka.ActorDeadError, match="not found"):
        ref.tell(1)
    with pytest.raises(pykka.ActorDeadError):
        ref.ask(1, timeout=20)
    with pytest.raises(pykka.ActorDeadError):
        ref.ask(1, block=False).get(timeout=20)
    with pytest.raises(pykka.ActorDeadError):
        ref.proxy()


def test_a_reference_says_what_it_refers_to(runtime):
    ref = runtime.system.spawn(Echo, name="echo")

    assert isinstance(ref, pykka.ActorRef)
    assert isinstance(ref, ActorRef)
    assert ref.actor_class is Echo
    assert ref.name == "echo"
    assert str(ref) == f"Echo ({ref.actor_urn})"
    assert repr(ref) == f"<ActorRef for Echo ({ref.actor_urn})>"
    assert ref.is_alive()


@pytest.mark.parametrize("wait", ["ask", "get", "stop"])
def test_waiting_for_another_actor_in_a_handler_is_refused(runtime, wait):
    class Waiter(Component):
        def __init__(self, *, other):
            self._other = other

        def on_receive(self, _message):
            match wait:
                case "ask":
                    self._other.ask(1)
                case "get":
                    self._other.ask(1, block=False).get()
                case _:
                    self._other.stop()

    waiter = runtime.system.spawn(Waiter, other=runtime.system.spawn(Echo))
    with pytest.raises(BlockingCallError):
        waiter.ask("go", timeout=20)


def test_what_is_answered_already_may_be_got_in_a_handler(runtime):
    class Getter(Component):
        def on_receive(self, reply):
            return reply.get()

    reply = runtime.system.spawn(Echo).ask(1, block=False)
    runtime.get(reply)

    assert runtime.system.spawn(Getter).ask(reply, timeout=20) == ("heard", 1)


def test_asking_oneself_without_blocking_answers_after_the_handler(runtime):
    class Selfish(Component):
        def on_receive(self, message):
            return self.actor_ref.ask("inner", block=False) if message == "outer" else "answer"

    outer = runtime.system.spawn(Selfish).ask("outer", timeout=20)

    assert runtime.get(outer) == "answer"


def test_an_answer_that_never_comes_times_out(runtime):
    class Mute(Component):
        def on_receive(self, _message):
            return None

    runtime.system.spawn(Mute)
    with pytest.raises(pykka.Timeout):
        runtime.expect().get(timeout=0.01)
