"""What waits has bounds, whoever is slow: a peer, a sink, or Python."""

from __future__ import annotations

import pytest

from framework.dataplane import (
    Closed,
    Delivered,
    LinkKind,
    MessageTraced,
    Overflow,
    PlaneLimits,
)
from framework.tests.dataplane.conftest import Peer, Talk
from framework.wire.closed_state import ClosedState

KIB = b"PUB s 1024\r\n" + b"x" * 1024 + b"\r\n"


def _stalls(peer: Peer) -> int:
    (row,) = peer.talk.links(link=peer.link)
    return row.stalls


@pytest.mark.parametrize("line", [b"PING\r\n", b"SUB .. 1\r\n", b"UNSUB 1\r\n"])
def test_answers_that_nobody_reads_cut_a_client_off(line: bytes) -> None:
    talk = Talk(PlaneLimits(max_pending=1_000_000))
    client = talk.client(verbose=True)
    for _ in range(100):
        talk.core.feed(client.link, line * 5_000, talk.now_ns)
    talk.turn()
    (event,) = talk.of(Closed)

    assert ClosedState.SLOW_CONSUMER_PENDING_BYTES == event.reason
    assert event.row.pending_bytes < 1_500_000
    assert 1 == talk.core.totals().kinds[LinkKind.CLIENT].slow


def test_a_route_that_asks_little_by_little_and_does_not_read_is_cut_off() -> None:
    talk = Talk(PlaneLimits(max_pending=100_000))
    route = talk.route()
    for _ in range(1_000):
        talk.core.feed(route.link, b"PING\r\n" * 100, talk.now_ns)
    talk.turn()
    (event,) = talk.of(Closed)

    assert ClosedState.SLOW_CONSUMER_PENDING_BYTES == event.reason
    assert event.row.pending_bytes < 110_000


def test_a_small_bound_of_what_waits_is_in_force() -> None:
    talk = Talk(PlaneLimits(max_pending=100_000))
    publisher, slow = talk.client(), talk.client()
    slow.say(b"SUB s 1\r\n")
    for _ in range(200):
        talk.core.feed(publisher.link, KIB, talk.now_ns)
    talk.turn()

    (event,) = talk.of(Closed)

    assert slow.link == event.link
    assert 100_000 < event.row.pending_bytes < 140_000


def test_interest_that_a_route_does_not_read_cuts_it_off() -> None:
    talk = Talk(PlaneLimits(max_pending=1_000_000))
    client, route = talk.client(), talk.route()
    for _ in range(100):
        talk.core.feed(client.link, b"SUB a 1\r\nUNSUB 1\r\n" * 2_000, talk.now_ns)
    talk.turn()

    assert [route.link] == [event.link for event in talk.of(Closed)]
    assert 1 == talk.core.totals().kinds[LinkKind.ROUTE].slow


def test_a_route_is_told_all_interest_whatever_its_size() -> None:
    talk = Talk(PlaneLimits(max_pending=100_000))
    client = talk.client()
    client.say(b"".join(b"SUB subject.%d %d\r\n" % (sid, sid) for sid in range(10_000)))

    assert 10_000 == talk.route().heard().count(b"RS+ ")


def test_a_client_that_waits_for_a_sink_is_read_when_there_is_room_and_not_before(
    talk: Talk,
) -> None:
    talk.core.subscribe_sink(0, b"s", bytes_max=1000, overflow=Overflow.STALL)
    client = talk.client()
    counts = []
    for _ in range(3):
        talk.core.feed(client.link, KIB * 3, talk.now_ns)
        talk.turn(1)
        counts.append(_stalls(client))
    talk.events.clear()
    talk.turn()
    for _ in range(3):
        talk.core.feed(client.link, KIB * 3, talk.now_ns)
        counts.append(_stalls(client))

    assert [1, 1, 1, 2, 2, 2] == counts


def test_a_sink_that_ends_lets_its_clients_go(talk: Talk) -> None:
    sink = talk.core.subscribe_sink(0, b"s", bytes_max=1000, overflow=Overflow.STALL)
    client = talk.client()
    client.say(KIB * 3)
    before = _stalls(client)
    talk.core.unsubscribe_sink(sink)
    talk.core.subscribe_sink(0, b"s", bytes_max=1000, overflow=Overflow.STALL)
    talk.turn()
    client.say(KIB * 3)

    assert (1, 2) == (before, _stalls(client))


def test_a_client_that_is_not_read_is_not_given_up_for_its_silence() -> None:
    talk = Talk(PlaneLimits(ping_interval_s=1, ping_max=1))
    talk.core.subscribe_sink(0, b"s", bytes_max=1000, overflow=Overflow.STALL)
    client = talk.client()
    client.say(KIB * 3)
    for _ in range(20):
        talk.turn(1)

    assert [] == talk.of(Closed)


def test_small_messages_count_with_what_they_lie_in(talk: Talk) -> None:
    talk.core.subscribe_sink(0, b"s", bytes_max=1_000_000)
    client = talk.client()
    client.say(b"PUB s 0\r\n\r\n" * 50_000)
    held = sum(len(event.batch) for event in talk.of(Delivered))
    talk.events.clear()
    client.say(b"PUB s 0\r\n\r\n" * 1_000)

    assert 20_000 < held < 40_000
    assert 50_000 == held + talk.core.totals().dropped
    assert 1_000 == sum(len(event.batch) for event in talk.of(Delivered))


def test_who_reports_more_than_python_takes_is_read_no_further(talk: Talk) -> None:
    talk.core.watch_interest(watch=True)
    client = talk.client()
    talk.core.open_listing(1)
    talk.core.next_rows(1, 1)
    for _ in range(20):
        talk.core.feed(client.link, b"SUB a 1\r\nUNSUB 1\r\n" * 2_000, talk.now_ns)
        talk.core.turn(talk.now_ns)
    first = _stalls(client)
    client.say(b"SUB a 1\r\nUNSUB 1\r\n" * 1_000)

    assert (1, 1) == (first, _stalls(client))


def test_remembered_matches_have_a_bound_in_bytes(talk: Talk) -> None:
    client = talk.client(echo=False)
    client.say(b"".join(b"SUB s.> %d\r\n" % sid for sid in range(2_000)))
    for subject in range(1_000):
        talk.core.feed(client.link, b"PUB s.%d r 0\r\n\r\n" % subject * 2, talk.now_ns)

    assert 100 < talk.core.sublist_counters().cached < 700


def _traced(destination: bytes = b"t", only: bytes = b"1") -> bytes:
    """Return a message to `s` that asks what becomes of it."""
    block = b"NATS/1.0\r\nNats-Trace-Dest: %b\r\nNats-Trace-Only: %b\r\n\r\n" % (destination, only)
    return b"HPUB s %d %d\r\n%b\r\n" % (len(block), len(block), block)


@pytest.mark.parametrize(("only", "got"), [(b"1", 0), (b"0", 60)])
def test_reports_of_what_became_of_messages_wait_for_python(
    talk: Talk, only: bytes, got: int
) -> None:
    other, client = talk.client(), talk.client(echo=False)
    other.say(b"SUB s 1\r\n")
    client.say(b"".join(b"SUB s q%b%d %d\r\n" % (b"q" * 2_000, at, at) for at in range(500)))
    talk.core.feed(client.link, _traced(only=only) * 60, talk.now_ns)
    talk.turn()
    few = len(talk.of(MessageTraced))
    client.say(_traced(only=only))
    for _ in range(10):
        talk.turn()

    assert 10 < few < 40
    assert few < len(talk.of(MessageTraced)) <= 61
    assert got == other.heard().count(b"HMSG s 1") - (got > 0)


def test_one_message_has_so_many_steps(talk: Talk) -> None:
    client = talk.client()
    client.say(b"".join(b"SUB s q%b%d %d\r\n" % (b"q" * 2_000, at, at) for at in range(3_000)))
    client.say(_traced())
    (event,) = talk.of(MessageTraced)

    assert 1_900 < len(event.steps) < 2_100


@pytest.mark.parametrize(("length", "count"), [(4_096, 1), (4_097, 0)])
def test_a_trace_goes_to_what_fits_into_a_line(talk: Talk, length: int, count: int) -> None:
    client = talk.client()
    client.say(b"SUB s 1\r\n" + _traced(b"t" * length, only=b"0"))

    assert count == len(talk.of(MessageTraced))
    assert client.heard().startswith(b"HMSG s 1 ")


def test_each_of_a_thousand_subjects_that_come_by_turns_is_remembered(talk: Talk) -> None:
    client = talk.client()
    client.say(b"SUB a.> 1\r\n")
    for _ in range(32):
        client.say(b"".join(b"PUB a.%d 0\r\n\r\n" % number for number in range(1000)))

    assert 1000 == talk.core.sublist_counters().cached
