from __future__ import annotations

import pytest

from framework.actors import (
    STOP_ON_FAILURE,
    ActorSystem,
    ChildFailedError,
    Component,
    SpawnRefusedError,
    Supervision,
)

ONCE = Supervision(restarts_max=1, backoff_s=0.001)


class Fragile(Component):
    """Counts its lives in `log`; fails on demand."""

    def __init__(self, *, log, fail_on_start=()):
        self._log = log
        self._fail_on_start = fail_on_start
        log.append("init")

    def on_start(self):
        self._log.append("start")
        if self._log.count("start") in self._fail_on_start:
            raise ValueError("start")

    def on_stop(self):
        self._log.append("stop")

    def on_failure(self, *_args):
        self._log.append("failure")

    def on_receive(self, message):
        if message == "fail":
            raise ValueError("why")
        self._log.append(message)
        return len(self._log)


class Parent(Component):
    """Has one `Fragile` child, in whose log it writes too.

    `gone` is set when the child is, `again` when the parent starts for the second time.
    """

    def __init__(self, *, log, gone=None, again=None, child=STOP_ON_FAILURE):
        self._log = log
        self._gone = gone
        self._again = again
        self._supervision = child

    def on_start(self):
        self._log.append("parent starts")
        self._child = self.spawn(
            Fragile, name="child", supervision=self._supervision, log=self._log
        )
        if self._again is not None and self._log.count("parent starts") == 2:
            self._again.set(self._child)

    def on_stop(self):
        self._log.append("parent stops")

    def on_child_stopped(self, child):
        self._gone.set(child)

    def on_failure(self, exception_type, *_args):
        self._log.append(exception_type)

    def on_receive(self, message):
        if message == "fail":
            raise ValueError("why")
        return self._child


def test_a_restarted_actor_keeps_its_reference_its_name_and_what_waits(runtime, logged):
    log = []
    ref = runtime.system.spawn(Fragile, name="fragile", supervision=ONCE, log=log)
    ref.tell("before")
    ref.tell("fail")
    ref.tell("after")

    assert ref.ask("asked", timeout=20)
    assert log == ["init", "start", "before", "failure", "init", "start", "after", "asked"]
    assert ref.is_alive()
    assert runtime.system.registry.get_by_name("fragile") is ref
    assert [it.msg for it in logged.records] == ["actor failed: %s"]


def test_too_many_restarts_stop_the_actor(runtime, logged):
    log, gone = [], runtime.expect()
    quiet = Supervision(restarts_max=2, backoff_s=0.001, escalate=False)
    parent = runtime.system.spawn(Parent, log=log, gone=gone, child=quiet)
    ref = parent.ask("child", timeout=20)
    for _ in range(3):
        ref.tell("fail")

    assert runtime.get(gone) is ref
    assert not ref.is_alive()
    assert (log.count("init"), log.count("stop")) == (3, 0)
    assert parent.is_alive()
    assert len(logged.records) == 3


def test_a_failing_start_counts_as_a_failure(runtime, logged):
    log = []
    ref = runtime.system.spawn(Fragile, supervision=ONCE, log=log, fail_on_start=(1,))

    assert ref.ask("ready?", timeout=20)
    assert log == ["init", "start", "init", "start", "ready?"]
    assert len(logged.records) == 1


def test_a_failing_init_counts_as_a_failure(simulated, logged):
    lives = []

    class Unlucky(Component):
        def __init__(self):
            lives.append(1)
            if len(lives) == 2:
                raise ValueError("init")

        def on_receive(self, message):
            if message == "fail":
                raise ValueError("why")
            return len(lives)

    ref = ActorSystem(simulated).spawn(Unlucky, supervision=Supervision())
    ref.tell("fail")

    assert ref.ask("life?") == 3
    assert [str(it.exc_info[1]) for it in logged.records] == ["why", "init"]


def test_a_stop_while_the_children_of_a_failed_actor_stop(simulated, logged):
    """The child stops its failed parent, which else would start again."""
    log = []

    class Child(Component):
        def __init__(self, *, above):
            self._above = above

        def on_stop(self):
            log.append("child stops")
            self._above.stop(block=False)

    class Above(Component):
        def on_start(self):
            log.append("start")
            self.spawn(Child, above=self.actor_ref)

        def on_receive(self, _message):
            raise ValueError("why")

    ref = ActorSystem(simulated).spawn(Above, supervision=Supervision())
    ref.tell("fail")
    simulated.run_for(60)

    assert log == ["start", "child stops"]
    assert not ref.is_alive()
    assert len(logged.records) == 1


def test_back_off_doubles_up_to_its_maximum_and_forgets_old_failures(simulated, logged):
    log, system = [], ActorSystem(simulated)
    supervision = Supervision(restarts_max=9, within_s=30, backoff_s=1.0, backoff_max_s=3.0)
    ref = system.spawn(Fragile, supervision=supervision, log=log)
    waited_s = []
    for _ in range(4):
        before_ns = simulated.now_ns()
        ref.tell("fail")
        ref.ask("back?")
        waited_s.append((simulated.now_ns() - before_ns) / 1e9)
    simulated.run_for(60)
    before_ns = simulated.now_ns()
    ref.tell("fail")
    ref.ask("back?")
    waited_s.append((simulated.now_ns() - before_ns) / 1e9)

    assert waited_s == [1.0, 2.0, 3.0, 3.0, 1.0]
    assert len(logged.records) == 5


def test_a_stop_does_not_wait_for_the_back_off(simulated, logged):
    log, system = [], ActorSystem(simulated)
    slow = Supervision(backoff_s=100, backoff_max_s=100)
    ref = system.spawn(Fragile, supervision=slow, log=log)
    ref.tell("fail")
    simulated.run_for(1)

    assert ref.is_alive()
    assert ref.stop() is True
    assert simulated.now_ns() == 1_000_000_000
    assert simulated.timer_count == 0
    assert log == ["init", "start", "failure"]
    assert len(logged.records) == 1


def test_a_failure_before_an_ordered_stop_is_not_restarted(simulated, logged):
    log, system = [], ActorSystem(simulated)
    ref = system.spawn(Fragile, supervision=Supervision(), log=log)
    ref.tell("fail")

    assert ref.stop() is True
    assert log == ["init", "start", "failure"]
    assert len(logged.records) == 1


def test_timers_and_answers_of_a_former_life_do_not_arrive(simulated, logged):
    heard, system = [], ActorSystem(simulated)

    class Forgetful(Component):
        def __init__(self, *, lives):
            lives.append(1)
            self._life = len(lives)

        def on_start(self):
            self.tell_later(5.0, f"timer of life {self._life}")
            self.run_blocking(int, answer=lambda _: f"answer of life {self._life}")

        def on_receive(self, message):
            if message == "fail":
                raise ValueError("why")
            heard.append(message)

    lives = []
    system.spawn(Forgetful, supervision=Supervision(), lives=lives).tell("fail")
    simulated.run_for(60)

    assert heard == ["answer of life 2", "timer of life 2"]
    assert len(logged.records) == 1


def test_children_stop_before_their_parent_last_started_first(runtime):
    order = []

    class Leaf(Component):
        def on_stop(self):
            order.append(self.actor_ref.name)

    class Tree(Leaf):
        def on_start(self):
            for name in ("first", "second", "third"):
                self.spawn(Leaf, name=name)

    runtime.system.spawn(Tree, name="tree").stop(timeout=20)

    assert order == ["tree/third", "tree/second", "tree/first", "tree"]


def test_a_parent_is_told_of_a_child_that_is_gone(runtime):
    gone = runtime.expect()
    ref = runtime.system.spawn(Parent, name="parent", log=[], gone=gone)
    child = ref.ask("child", timeout=20)
    child.stop(timeout=20)

    assert runtime.get(gone) is child
    assert runtime.get(ref.proxy().children) == []
    assert ref.is_alive()


def test_a_child_that_fails_too_often_restarts_its_parent(runtime, logged):
    log, again = [], runtime.expect()
    ref = runtime.system.spawn(Parent, supervision=ONCE, log=log, again=again, child=ONCE)
    child = ref.ask("child", timeout=20)
    child.tell("fail")
    child.tell("fail")
    successor = runtime.get(again)

    assert ChildFailedError in log
    assert "parent stops" not in log
    assert not child.is_alive()
    assert successor.name == child.name
    assert len(logged.records) == 3


def test_a_parent_that_restarts_stops_its_children_first(runtime, logged):
    log = []
    ref = runtime.system.spawn(Parent, supervision=ONCE, log=log)
    ref.tell("fail")
    child = ref.ask("child", timeout=20)

    assert child.is_alive()
    starts = [event for event in log if event in {"parent starts", "init", "stop"}]
    assert starts[:2] == ["parent starts", "init"]
    assert starts[2:4] == ["stop", "parent starts"]
    assert len(logged.records) == 1


def test_escalation_out_of_the_top_stops_the_system(runtime, logged):
    failure = runtime.expect()
    system = ActorSystem(runtime.dispatcher, name="doomed", on_failure=failure.set)
    neighbour = system.spawn(Component)
    ref = system.spawn(Fragile, supervision=Supervision(restarts_max=0), log=[])
    ref.tell("fail")
    error = runtime.get(failure)
    runtime.get(system.stop(20))

    assert not neighbour.is_alive()
    assert isinstance(error, ChildFailedError)
    assert str(error.__cause__) == "why"
    with pytest.raises(SpawnRefusedError):
        system.spawn(Component)
    assert logged.records


@pytest.mark.parametrize(
    "wrong",
    [
        {"restarts_max": -1},
        {"within_s": 0},
        {"backoff_s": -1},
        {"backoff_s": 2, "backoff_max_s": 1},
    ],
)
def test_a_supervision_out_of_range_is_a_bug(wrong):
    with pytest.raises(AssertionError):
        Supervision(**wrong)
