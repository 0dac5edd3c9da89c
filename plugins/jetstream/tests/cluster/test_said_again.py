"""What a server does of what the meta group's log says again after a start."""

from __future__ import annotations

import pytest
from framework_jetstream.cluster.said_again import SaidAgain, come_to
from framework_jetstream.meta.assignments import Asset, Group
from framework_jetstream.meta.effects import ChangeAsset, StartAsset, StopAsset, Why
from framework_jetstream.meta.view import GroupState

S, C = Asset("A", "S"), Asset("A", "S", "c")


def start(asset=S, group="g"):
    return StartAsset(1, asset, Group(name=group, peers=("p",)), 1, b"", 0)


def stop(asset=S, group="g"):
    return StopAsset(1, asset, group, Why.MOVED)


def change(asset=S, group="g"):
    return ChangeAsset(asset, Group(name=group, peers=("p",)), 1, b"", 0)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("start change", "start change"),
        ("start change stop", "stop"),
        ("start stop start", "start"),
        ("start change stop start change", "start change"),
        ("start stop start stop", "stop stop"),
        ("change stop", "stop"),
        ("change", "change"),
    ],
)
def test_of_what_comes_and_goes_the_end_counts(said, wanted):
    words = {"start": start(), "stop": stop(), "change": change()}
    effects = [(words[it], at) for at, it in enumerate(said.split())]

    assert [it for it, _ in come_to(effects)] == [words[it] for it in wanted.split()]


def test_another_one_of_its_name_is_begun_when_the_one_before_is_gone():
    said = [start(), start(C, "h"), stop(C, "h"), stop(), start(S, "new"), start(C, "h2")]
    done = [it for it, _ in come_to([(it, 0) for it in said])]

    assert done == [stop(C, "h"), stop(), start(S, "new"), start(C, "h2")]


def test_a_consumer_that_left_with_its_stream_is_there_again_with_it():
    said = [start(), start(C, "h"), stop(C, "h"), stop(), start(), start(C, "h")]

    assert [it for it, _ in come_to([(it, 0) for it in said])] == [start(), start(C, "h")]


def test_nothing_is_done_before_all_is_applied():
    done = []
    said_again = SaidAgain(lambda effect, index: done.append((effect, index)))
    said_again.take(start(), 3)
    for state in (
        GroupState(),
        GroupState(leader="q", term=2, last_term=1, last_index=3, applied=3),
        GroupState(leader="q", term=2, last_term=2, last_index=5, applied=3),
    ):
        said_again.take_state(state)
    said_again.take(stop(), 4)
    said_again.take(start(), 5)
    assert done == []
    # The log may have grown meanwhile.
    said_again.take_state(GroupState(leader="q", term=2, last_term=2, last_index=9, applied=5))
    assert done == [(start(), 5)]
    said_again.take(stop(), 6)
    assert done[1:] == [(stop(), 6)]
