from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.actors.limits import CANCELLED_TIMERS_KEPT
from framework.actors.timer import Timer, TimerQueue


class Clock:
    """A queue, the time, and the names of the timers that fired."""

    def __init__(self):
        self.queue = TimerQueue()
        self.now_ns = 0
        self.fired = []

    def start(self, name, delay_ns):
        timer = Timer(self.queue, self._arm, lambda: self.fired.append((name, self.now_ns)))
        self._arm(timer, delay_ns / 1e9)
        return timer

    def _arm(self, timer, delay_s):
        self.queue.arm(timer, self.now_ns + round(delay_s * 1e9))

    def pass_until(self, time_ns):
        while (due_ns := self.queue.next_due_ns()) is not None and due_ns <= time_ns:
            self.now_ns = due_ns
            self.queue.pop_due(due_ns)()
        self.now_ns = time_ns


@pytest.fixture
def clock():
    return Clock()


def test_timers_fire_in_order_of_time_then_of_arming(clock):
    for name, delay_ns in (("late", 9), ("first", 3), ("second", 3), ("at once", 0)):
        clock.start(name, delay_ns)
    clock.pass_until(100)

    assert clock.fired == [("at once", 0), ("first", 3), ("second", 3), ("late", 9)]
    assert len(clock.queue) == 0


def test_cancelling(clock):
    timer = clock.start("never", 3)

    assert timer.is_pending
    assert timer.cancel() is True
    assert timer.cancel() is False
    assert not timer.is_pending
    clock.pass_until(10)
    assert clock.fired == []
    with pytest.raises(AssertionError):
        timer.reset(1.0)


@pytest.mark.parametrize("delay_ns", [2, 5, 9])
def test_resetting_to_earlier_the_same_and_later(clock, delay_ns):
    timer = clock.start("moved", 5)
    timer.reset(delay_ns / 1e9)
    clock.pass_until(20)

    assert clock.fired == [("moved", delay_ns)]


def test_resetting_after_it_fired(clock):
    timer = clock.start("again", 1)
    clock.pass_until(5)
    timer.reset(2e-9)
    clock.pass_until(9)

    assert clock.fired == [("again", 1), ("again", 7)]


def test_its_owner_knows_what_is_pending(clock):
    timer, owner = clock.start("owned", 5), {}
    timer.owner = owner
    timer.reset(3e-9)
    pending = list(owner)
    clock.pass_until(9)

    assert pending == [timer]
    assert owner == {}


def test_cancelled_timers_do_not_pile_up(clock):
    for number in range(50 * CANCELLED_TIMERS_KEPT):
        clock.start(number, 1_000 + number).cancel()

    assert len(clock.queue) == 0
    assert len(clock.queue._heap) <= CANCELLED_TIMERS_KEPT + 1


def test_clearing_cancels_everything(clock):
    timers = [clock.start(number, number) for number in range(5)]
    clock.queue.clear()

    assert clock.queue.next_due_ns() is None
    assert len(clock.queue) == 0
    assert not any(timer.is_pending for timer in timers)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["start", "reset", "cancel", "pass"]),
            st.integers(0, 5),
            st.integers(0, 20),
        ),
        max_size=60,
    )
)
def test_it_equals_a_plain_list_of_due_times(steps):
    clock, timers, model, expected = Clock(), {}, {}, []

    def expect_until(time_ns):
        for due_ns, _, name in sorted(
            (*due, name) for name, due in model.items() if due[0] <= time_ns
        ):
            expected.append((name, due_ns))
            del model[name]

    for order, (verb, name, amount) in enumerate(steps):
        if verb == "pass":
            expect_until(clock.now_ns + amount)
            clock.pass_until(clock.now_ns + amount)
        elif verb == "start" and name not in timers:
            timers[name] = clock.start(name, amount)
            model[name] = (clock.now_ns + amount, order)
        elif verb == "reset" and name in timers:
            timers[name].reset(amount / 1e9)
            model[name] = (clock.now_ns + amount, order)
        elif verb == "cancel" and name in timers:
            assert timers.pop(name).cancel() is (model.pop(name, None) is not None)
        assert len(clock.queue) == len(model)
    expect_until(clock.now_ns + 100)
    clock.pass_until(clock.now_ns + 100)

    assert expected == clock.fired
