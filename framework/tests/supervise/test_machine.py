"""The life of one server process, in virtual time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.supervise.machine import (
    EXIT_REFUSED,
    Arm,
    Kill,
    Launch,
    Phase,
    RestartPolicy,
    ServerMachine,
    Terminate,
)

SECOND_NS = 1_000_000_000
SIGKILLED = -9


def started(policy: RestartPolicy | None = None) -> ServerMachine:
    machine = ServerMachine(policy or RestartPolicy())
    machine.start()
    return machine


def test_a_process_may_have_a_deadline_of_its_own() -> None:
    policy = RestartPolicy(failures_max=4)

    assert policy.of(None) is policy
    assert (180.0, 4) == (policy.of(180.0).start_deadline_s, policy.of(180.0).failures_max)


def test_start_launches_and_sets_a_deadline() -> None:
    machine = ServerMachine(RestartPolicy(start_deadline_s=7))

    assert [Launch(), Arm(7, 1)] == machine.start()
    assert machine.phase is Phase.STARTING


def test_ready_is_ready_only_once() -> None:
    machine = started()

    assert machine.receive_ready(0) == []
    assert machine.receive_ready(SECOND_NS) == []
    assert machine.phase is Phase.READY
    assert machine.was_ever_ready


def test_a_crash_is_followed_by_a_restart_after_the_back_off() -> None:
    machine = started()
    machine.receive_ready(0)

    [arm] = machine.receive_exit(SIGKILLED, SECOND_NS)

    assert isinstance(arm, Arm)
    assert arm.delay_s == 0.25
    assert machine.phase is Phase.WAITING
    assert machine.receive_timer(arm.timer)[0] == Launch()
    assert machine.restarts == 1


def test_an_orderly_exit_that_nobody_asked_for_is_a_crash_too() -> None:
    machine = started()
    machine.receive_ready(0)
    machine.receive_exit(0, SECOND_NS)

    assert machine.phase is Phase.WAITING


def test_back_off_doubles_up_to_its_limit_and_then_the_server_is_given_up() -> None:
    policy = RestartPolicy(delay_first_s=1, delay_max_s=5, failures_max=4)
    machine = started(policy)
    machine.receive_ready(0)
    waits = []
    while (effects := machine.receive_exit(SIGKILLED, 0)) != []:
        [arm] = effects
        assert isinstance(arm, Arm)
        waits.append(arm.delay_s)
        machine.receive_timer(arm.timer)

    assert waits == [1, 2, 4, 5]
    assert machine.phase is Phase.FAILED


def test_a_healthy_run_forgives_the_failures_before_it() -> None:
    machine = started(RestartPolicy(healthy_s=10))
    machine.receive_ready(0)
    [arm] = machine.receive_exit(SIGKILLED, SECOND_NS)
    assert isinstance(arm, Arm)
    machine.receive_timer(arm.timer)
    machine.receive_ready(2 * SECOND_NS)

    [arm] = machine.receive_exit(SIGKILLED, 12 * SECOND_NS)

    assert isinstance(arm, Arm)
    assert arm.delay_s == 0.25
    assert machine.failures == 1


def test_a_server_that_refuses_its_first_start_is_not_launched_again() -> None:
    machine = started()

    assert machine.receive_exit(EXIT_REFUSED, 0) == []
    assert machine.phase is Phase.FAILED


def test_a_server_that_was_up_before_may_refuse_for_a_while() -> None:
    machine = started()
    machine.receive_ready(0)
    machine.receive_exit(EXIT_REFUSED, 0)

    assert machine.phase is Phase.WAITING


def test_a_server_that_never_came_up_is_given_up_sooner() -> None:
    machine = started(RestartPolicy(first_failures_max=1))
    [arm] = machine.receive_exit(2, 0)
    assert isinstance(arm, Arm)
    machine.receive_timer(arm.timer)

    assert machine.receive_exit(2, 0) == []
    assert machine.phase is Phase.FAILED


def test_a_start_that_hangs_is_killed_and_counts_as_a_failure() -> None:
    machine = ServerMachine(RestartPolicy())
    _, arm = machine.start()
    assert isinstance(arm, Arm)

    assert machine.receive_timer(arm.timer) == [Kill()]
    machine.receive_exit(SIGKILLED, 0)
    assert machine.failures == 1


def test_the_deadline_of_a_start_says_nothing_about_a_ready_server() -> None:
    machine = ServerMachine(RestartPolicy())
    _, arm = machine.start()
    assert isinstance(arm, Arm)
    machine.receive_ready(0)

    assert machine.receive_timer(arm.timer) == []


def test_stop_is_kind_and_then_is_not() -> None:
    machine = started(RestartPolicy(stop_deadline_s=3))
    machine.receive_ready(0)

    terminate, arm = machine.stop()

    assert terminate == Terminate()
    assert isinstance(arm, Arm)
    assert arm.delay_s == 3
    assert machine.stop() == []
    assert machine.receive_timer(arm.timer) == [Kill()]
    assert machine.receive_exit(SIGKILLED, 0) == []
    assert machine.phase is Phase.STOPPED


def test_stop_while_waiting_needs_no_process() -> None:
    machine = started()
    machine.receive_ready(0)
    [arm] = machine.receive_exit(SIGKILLED, 0)
    assert isinstance(arm, Arm)

    assert machine.stop() == []
    assert machine.phase is Phase.STOPPED
    assert machine.receive_timer(arm.timer) == []


@pytest.mark.parametrize("begin", ["starting", "ready", "stopping"])
def test_kill_kills_whatever_runs(begin: str) -> None:
    machine = started()
    if begin != "starting":
        machine.receive_ready(0)
    if begin == "stopping":
        machine.stop()

    assert machine.kill() == [Kill()]
    machine.receive_exit(SIGKILLED, 0)
    assert machine.phase is Phase.STOPPED


def test_kill_of_a_server_without_process_stops_it() -> None:
    machine = started()
    machine.receive_ready(0)
    machine.receive_exit(SIGKILLED, 0)

    assert machine.kill() == []
    assert machine.phase is Phase.STOPPED


@given(st.lists(st.sampled_from(["ready", "exit", "refuse", "timer", "stale", "stop", "kill"])))
def test_launches_and_exits_alternate_whatever_happens(events: list[str]) -> None:
    machine = ServerMachine(RestartPolicy())
    timer, processes, now_ns = 0, 0, 0
    effects = machine.start()
    was_stopped = False
    for event in events:
        for effect in effects:
            processes += effect == Launch()
            timer = effect.timer if isinstance(effect, Arm) else timer
        assert processes == machine.phase.has_process
        now_ns += SECOND_NS
        effects = []
        if event in {"exit", "refuse"} and processes:
            effects = machine.receive_exit(EXIT_REFUSED if event == "refuse" else -9, now_ns)
            processes = 0
        elif event in {"timer", "stale"}:
            effects = machine.receive_timer(timer - (event == "stale"))
        elif event == "ready" and processes:
            effects = machine.receive_ready(now_ns)
        elif event in {"stop", "kill"}:
            effects = machine.stop() if event == "stop" else machine.kill()
            was_stopped = True
        assert not (was_stopped and Launch() in effects)


@given(st.integers(min_value=1, max_value=10_000))
def test_delays_stay_between_their_limits(failures: int) -> None:
    policy = RestartPolicy()

    assert policy.delay_first_s <= policy.delay_s(failures) <= policy.delay_max_s
