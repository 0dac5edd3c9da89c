"""A group is brought to other servers one step after the other, never with fewer that have it."""

from __future__ import annotations

import random

import pytest
from framework_jetstream.meta.fleet import SILENT_AFTER_NS
from framework_jetstream.meta.moving import Done, Step, Waiting, next_step
from framework_jetstream.meta.view import GroupState, Member
from framework_jetstream.raft.records import Change

COMMIT = 7


def state(leader, silent="", **members):
    """Return the state of a group; of members with how much they have, and below 0, who learn."""
    found = tuple(
        Member(it, abs(match), SILENT_AFTER_NS * (it in silent), match > 0)
        for it, match in members.items()
    )
    return GroupState(leader=leader, commit=COMMIT, is_leader=True, members=found)


@pytest.mark.parametrize(
    ("now", "wanted", "step"),
    [
        (state("a", a=7, b=7, c=7), "abc", Done()),
        (state("a", a=7), "abc", Step("b", Change.ADD_LEARNER)),
        (state("a", a=7, b=-3), "ab", Waiting()),
        (state("a", a=7, b=-7), "ab", Step("b", Change.PROMOTE)),
        (state("a", a=7, b=-7, c=0), "abc", Waiting()),
        (state("a", a=7, b=-7, c=-3), "abc", Step("b", Change.PROMOTE)),
        (state("a", a=7, b=-3, c=-7), "abc", Step("c", Change.PROMOTE)),
        (state("a", a=7, b=7, c=-7, d=0, e=0), "abcde", Step("c", Change.PROMOTE)),
        (state("a", a=7, b=7, c=-7, d=-7, e=0), "abcde", Step("c", Change.PROMOTE)),
        (state("a", a=7, b=7, c=7, d=-7, e=0), "abcde", Waiting()),
        (state("a", a=7, b=7, c=7), "abx", Step("x", Change.ADD_LEARNER)),
        (state("a", a=7, b=7, c=7, x=-7), "abx", Step("x", Change.PROMOTE)),
        (state("a", a=7, b=7, c=7, x=7), "abx", Step("c", Change.REMOVE)),
        (state("a", a=7, b=6, c=7), "bc", Step("c")),
        (state("a", a=7, b=7, c=-2), "ab", Step("c", Change.REMOVE)),
    ],
)
def test_the_next_step(now, wanted, step):
    assert next_step(now, tuple(wanted)) == step


def test_a_learner_does_not_wait_for_one_that_is_not_heard():
    now = state("a", silent="c", a=7, b=-7, c=0)

    assert next_step(now, tuple("abc")) == Step("b", Change.PROMOTE)


def test_all_steps_lead_to_what_is_wanted():
    rng = random.Random(11)
    for _ in range(300):
        members = dict.fromkeys(rng.sample("abcdefg", rng.randint(1, 5)), COMMIT)
        wanted = tuple(rng.sample("abcdefg", rng.randint(1, 5)))
        leader, least = next(iter(members)), min(len(members), len(wanted))
        steps = 0
        while not isinstance(step := next_step(state(leader, **members), wanted), Done):
            steps += 1
            assert isinstance(step, Step)
            match step.change:
                case Change.ADD_LEARNER:
                    members[step.peer] = -COMMIT
                case Change.PROMOTE:
                    members[step.peer] = COMMIT
                case Change.REMOVE:
                    del members[step.peer]
                case None:
                    leader = step.peer
            assert sum(it > 0 for it in members.values()) >= least
            assert steps <= 20

        assert set(members) == set(wanted)
