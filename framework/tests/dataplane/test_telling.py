"""What a route is told first takes several turns, and comes to what interest is in the end."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest

from framework.dataplane import Closed, LinkKind, PeerTerms
from framework.wire.closed_state import ClosedState

if TYPE_CHECKING:
    from framework.tests.dataplane.conftest import Peer, Talk

MANY = 20_000
TURN_WORK_MAX = 40_000


def subscribe(peer: Peer, numbers: range) -> None:
    for first in range(numbers.start, numbers.stop, 4_000):
        part = range(first, min(first + 4_000, numbers.stop))
        peer.say(b"".join(b"SUB s.%d %d\r\n" % (it, it) for it in part))


def joining(talk: Talk, **options: object) -> int:
    """Return a route whose registration waits for the next turn."""
    link = talk.core.open(LinkKind.ROUTE, "127.0.0.1", 2, accepted=True)
    talk.core.register_peer(link, PeerTerms(**options))
    return link


def replay(told: bytes, known: set[bytes]) -> None:
    """Do to `known` what a server does that is told of interest."""
    for sign, subject in re.findall(rb"RS([+-]) \$G (\S+)\r\n", told):
        if sign == b"+":
            known.add(subject)
        else:
            known.discard(subject)


def once(talk: Talk) -> int:
    """Return the work of one turn."""
    before = talk.core.work
    talk.core.turn(talk.now_ns)
    talk.events += talk.core.take_events()
    return talk.core.work - before


@pytest.mark.parametrize("growth", [0, 3 * MANY])
def test_what_changes_meanwhile_is_neither_missed_nor_undone(talk: Talk, growth: int) -> None:
    client, rng = talk.client(), random.Random(growth)
    subscribe(client, range(MANY))
    link = joining(talk)
    there, known, turns, following = set(range(MANY)), set[bytes](), 0, MANY
    while turns == 0 or talk.core.is_busy:
        assert once(talk) < TURN_WORK_MAX
        replay(talk.core.take_output(link), known)
        gone = rng.sample(sorted(there), 100)
        back = rng.sample(gone, 50)
        new = range(following, min(following + 8_000, MANY + growth))
        following = new.stop
        lines = [b"UNSUB %d\r\n" % it for it in gone]
        lines += [b"SUB s.%d %d\r\n" % (it, it) for it in (*back, *new)]
        talk.core.feed(client.link, b"".join(lines), talk.now_ns)
        there = (there - set(gone)) | set(back) | set(new)
        turns += 1
    talk.turn()
    replay(talk.core.take_output(link), known)

    assert turns > 4
    assert {b"s.%d" % it for it in there} == known


def test_the_answer_to_a_ping_comes_behind_all_interest(talk: Talk) -> None:
    subscribe(talk.client(), range(MANY))
    link = joining(talk)
    once(talk)

    assert talk.core.is_busy
    talk.core.feed(link, b"PING\r\n", talk.now_ns)
    talk.turn()
    told = talk.core.take_output(link)

    assert MANY == told.count(b"RS+ $G ")
    assert told.endswith(b"\r\nPONG\r\n")


def test_interest_and_messages_wait_until_all_is_told(talk: Talk) -> None:
    """A request would else overtake the interest in its reply."""
    client = talk.client()
    subscribe(client, range(MANY))
    link = joining(talk)
    once(talk)
    talk.core.feed(client.link, b"PUB service s.0 0\r\n\r\n", talk.now_ns)
    talk.core.feed(link, b"RS+ $G service\r\n", talk.now_ns)
    talk.core.feed(client.link, b"PUB service s.0 0\r\n\r\n", talk.now_ns)
    talk.turn()
    told = talk.core.take_output(link)

    assert told.endswith(b"RMSG $G service s.0 0\r\n\r\n")
    assert 1 == told.count(b"RMSG")
    assert MANY == told.count(b"RS+ $G ")


def test_others_have_their_turns_meanwhile(talk: Talk) -> None:
    subscribe(talk.client(), range(MANY))
    other = talk.client()
    other.say(b"SUB own 1\r\n")
    link = joining(talk)
    turns = 0
    while turns == 0 or talk.core.is_busy:
        talk.core.feed(other.link, b"PUB own 2\r\nhi\r\n", talk.now_ns)

        assert once(talk) < TURN_WORK_MAX
        assert b"MSG own 1 2\r\nhi\r\n" == talk.core.take_output(other.link)
        turns += 1
    assert turns > 4
    assert MANY + 1 == talk.core.take_output(link).count(b"RS+ $G ")


def test_a_route_that_ends_or_gives_the_account_away_is_told_no_more(talk: Talk) -> None:
    subscribe(talk.client(), range(MANY))
    ends, gives = joining(talk), joining(talk, pool_size=1)
    once(talk)
    talk.core.close(ends, ClosedState.CLIENT_CLOSED)
    talk.core.pin_accounts([0])
    once(talk)
    told = talk.core.take_output(gives).count(b"RS+")
    talk.turn()

    assert 0 < told < MANY
    assert b"" == talk.core.take_output(gives)
    assert [ends] == [it.link for it in talk.of(Closed)]
