"""Decisions of the meta leader come one after the other, each on what the one before has led to."""

from __future__ import annotations

import pytest
from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.cluster.decisions import WAITING_MAX, Decisions
from framework_jetstream.cluster.membership import next_change
from framework_jetstream.meta.assignments import ServerRecord
from framework_jetstream.meta.effects import Outcome
from framework_jetstream.meta.entries import PutServer
from framework_jetstream.meta.leader import Proposal
from framework_jetstream.meta.view import GroupState, Member
from framework_jetstream.raft.records import Change


class Office:
    """Where a leader is in office, or not."""

    def __init__(self):
        self.is_in_office = True


@pytest.fixture
def office():
    return Office()


@pytest.fixture
def proposed():
    return []


@pytest.fixture
def decisions(office, proposed):
    return Decisions(office, lambda data, dropped: proposed.append((data, dropped)))


def proposal(number):
    return Proposal(number, PutServer(ServerRecord(peer="p", name="n")), b"%d" % number)


def test_the_next_one_waits_until_the_one_before_is_applied(decisions, proposed):
    told = []
    for number in (1, 2):
        decisions.decide(lambda number=number: proposal(number), told.append)
    assert [it[0] for it in proposed] == [b"1"]

    decisions.answered(2, Outcome.DONE)
    assert told == []
    decisions.answered(1, Outcome.DONE)
    decisions.answered(2, Outcome.EXISTS)

    assert [it[0] for it in proposed] == [b"1", b"2"]
    assert told == [Outcome.DONE, Outcome.EXISTS]


def test_one_that_is_refused_or_has_nothing_to_do_holds_nobody_up(decisions, proposed):
    def refuse():
        raise failure(ErrCode.STREAM_NOT_FOUND)

    told, refused = [], []
    decisions.decide(refuse, told.append, lambda error: refused.append(error.err_code))
    decisions.decide(lambda: None, told.append)
    decisions.decide(lambda: proposal(3), told.append)

    assert (told, refused) == ([None], [ErrCode.STREAM_NOT_FOUND])
    assert [it[0] for it in proposed] == [b"3"]


def test_what_may_not_be_committed_is_nobodys_answer(decisions, proposed):
    told = []
    decisions.decide(lambda: proposal(1), told.append)
    decisions.decide(lambda: proposal(2), told.append)
    proposed[0][1]()
    proposed[0][1]()

    assert told == [None]
    assert [it[0] for it in proposed] == [b"1", b"2"]


def test_with_the_office_all_of_it_ends(decisions, office, proposed):
    told, refused = [], []
    for number in (1, 2, 3):
        decisions.decide(lambda number=number: proposal(number), told.append)
    office.is_in_office = False
    decisions.end()
    decisions.decide(lambda: proposal(4), told.append, lambda error: refused.append(error.code))

    assert (told, refused) == ([None] * 3, [503])
    assert len(proposed) == 1


def test_a_crowd_is_refused(decisions):
    refused = []
    for number in range(WAITING_MAX + 3):
        decisions.decide(lambda number=number: proposal(number), refused=refused.append)

    assert len(refused) == 2


def member(peer, match, *, votes):
    return Member(peer, match, 0, votes)


def due(state, servers, online="abc"):
    return next_change(state, servers, lambda it: it in online)


def test_servers_learn_before_they_vote():
    state = GroupState(commit=7, members=(member("a", 7, votes=True), member("b", 3, votes=False)))

    assert due(state, ["a", "b"]) is None
    assert due(state, ["a", "b", "c"]) == (Change.ADD_LEARNER, "c")
    assert due(state, ["a", "b", "c"], "ab") is None
    state = GroupState(commit=7, members=(member("a", 7, votes=True), member("b", 7, votes=False)))
    assert due(state, ["a", "b", "c"]) == (Change.PROMOTE, "b")


def test_a_server_that_was_removed_leaves_the_group_unless_it_leads():
    state = GroupState(
        leader="a", commit=7, members=(member("a", 7, votes=True), member("b", 7, votes=True))
    )

    assert due(state, ["a"]) == (Change.REMOVE, "b")
    assert due(state, ["b"]) is None
