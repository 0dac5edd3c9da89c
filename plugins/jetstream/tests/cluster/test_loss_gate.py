"""What may have been at a server that has lost its store is not begun there as something new."""

from __future__ import annotations

from framework_jetstream.cluster.loss_gate import LossGate
from framework_jetstream.meta.assignments import Asset, Group
from framework_jetstream.meta.effects import StartAsset, StopAsset, Why
from framework_jetstream.meta.founding import Memory
from framework_jetstream.meta.view import GroupState

LOST = Memory(has_lost=True)


def start(index):
    return StartAsset(index, Asset("A", f"S{index}"), Group(name="g", peers=("p",)), 1, b"", 0)


def taken(gate_memory, *states):
    """Return what a gate lets pass: of the entries 3, 7 and 9, and of a state, in this order."""
    done = []
    gate = LossGate(done.append)
    gate.use(gate_memory)
    gate.take(start(5), 0)
    for index in (3, 7, 9):
        gate.take(start(index), index)
    for state in states:
        gate.take_state(state)
    return gate, [(it.index, it.may_have_been) for it in done]


def test_where_nothing_is_lost_all_is_begun_at_once():
    _, done = taken(Memory())

    assert done == [(5, False), (3, False), (7, False), (9, False)]


def test_nothing_is_begun_before_the_barrier_is_known():
    _, done = taken(LOST, GroupState(is_lost=True))

    assert done == []


def test_what_is_assigned_behind_the_barrier_was_never_here():
    _, done = taken(LOST, GroupState(is_lost=True), GroupState(barrier=7, last_index=9))

    assert done == [(5, True), (3, True), (7, True), (9, False)]


def test_after_a_start_all_that_is_in_the_log_may_have_been_here():
    _, done = taken(LOST, GroupState(last_index=8))

    assert done == [(5, True), (3, True), (7, True), (9, False)]


def test_effects_keep_their_order():
    done = []
    gate = LossGate(done.append)
    gate.use(LOST)
    gate.take(start(3), 3)
    gate.take(StopAsset(4, Asset("A", "S3"), "g", Why.REMOVED), 4)
    gate.take_state(GroupState(barrier=3))

    assert [type(it) for it in done] == [StartAsset, StopAsset]


def test_it_is_passed_when_all_is_applied_that_is_committed():
    gate, _ = taken(LOST, GroupState(barrier=7))

    assert not gate.is_passed(GroupState(leader="p", applied=7, commit=9))
    assert gate.is_passed(GroupState(leader="p", applied=9, commit=9))
