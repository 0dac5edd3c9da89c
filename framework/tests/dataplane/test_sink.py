"""Subscribers and publishers inside the process."""

from __future__ import annotations

import pytest

from framework.dataplane import Delivered, LinkKind, Overflow, PlaneLimits
from framework.dataplane.port import Outgoing
from framework.tests.dataplane.conftest import Talk
from framework.tests.dataplane.memory import allocated

MIB = 1 << 20
SPARES_BYTES_MAX = 16 * MIB
"""What the plane keeps of batches that nobody holds."""


def _messages(talk: Talk) -> list[tuple[bytes, bytes, bytes, bytes]]:
    return [message for event in talk.of(Delivered) for message in event.batch.detach()]


def test_a_sink_gets_batches_in_order(talk: Talk) -> None:
    sink = talk.core.subscribe_sink(0, b"s.*")
    client = talk.client()
    client.say(
        b"PUB s.1 r 3\r\none\r\nHPUB s.2 12 15\r\nNATS/1.0\r\n\r\ntwo\r\nPUB other 1\r\nx\r\n"
    )
    (event,) = talk.of(Delivered)
    batch = event.batch

    assert (sink, 2) == (event.sink, len(batch))
    assert [
        (b"s.1", b"r", b"", b"one"),
        (b"s.2", b"", b"NATS/1.0\r\n\r\n", b"two"),
    ] == batch.detach()
    assert b"two" == bytes(batch.payload(1))
    assert b"s.1" == batch.subject(0)
    assert client.link == batch.link(0)
    with pytest.raises(IndexError):
        batch.payload(2)


def test_batches_are_bounded(talk: Talk) -> None:
    talk.core.subscribe_sink(0, b"s", bytes_max=10_000_000)
    client = talk.client()
    client.say(
        b"PUB s 1\r\nx\r\n" * 5000
        + b"PUB s 200000\r\n"
        + b"y" * 200_000
        + b"\r\n"
        + b"PUB s 200000\r\n"
        + b"y" * 200_000
        + b"\r\n"
    )
    sizes = [len(event.batch) for event in talk.of(Delivered)]

    assert 5002 == sum(sizes)
    assert 2000 >= max(sizes)
    assert all(memoryview(event.batch).nbytes <= 262_144 for event in talk.of(Delivered))


def test_a_view_outlives_its_batch(talk: Talk) -> None:
    talk.core.subscribe_sink(0, b"s")
    talk.client().say(b"PUB s 5\r\nhello\r\n")
    view = talk.of(Delivered)[0].batch.payload(0)
    talk.events.clear()

    assert b"hello" == view


def test_what_is_held_stays_as_it_is_while_batches_that_were_let_go_of_are_filled_again(
    talk: Talk,
) -> None:
    talk.core.subscribe_sink(0, b"s", bytes_max=10_000_000)
    client = talk.client()

    def batches(letter: bytes) -> list[memoryview]:
        talk.events.clear()
        client.say((b"PUB s 200\r\n" + letter * 200 + b"\r\n") * 5000)
        return [memoryview(event.batch) for event in talk.of(Delivered)]

    held = batches(b"a")
    for letter in (b"b", b"c", b"d"):
        assert (b"s" + letter * 200) * 5000 == b"".join(batches(letter))

    assert (b"s" + b"a" * 200) * 5000 == b"".join(held)


@pytest.mark.parametrize("payload_bytes", [5 * MIB, 20 * MIB])
def test_of_batches_that_nobody_holds_so_many_bytes_stay(payload_bytes: int) -> None:
    talk = Talk(PlaneLimits(max_payload=64 * MIB))
    talk.core.subscribe_sink(0, b"s", bytes_max=1 << 40)
    client = talk.client()
    line = b"PUB s %d\r\n%b\r\n" % (payload_bytes, bytes(payload_bytes))
    for _ in range(10):
        client.say(line)
    held = allocated()
    talk.events.clear()

    assert held - allocated() >= 10 * payload_bytes - SPARES_BYTES_MAX


def test_what_is_held_counts_until_it_is_let_go(talk: Talk) -> None:
    talk.core.subscribe_sink(0, b"s", bytes_max=1000, overflow=Overflow.DROP)
    client = talk.client()
    client.say((b"PUB s 99\r\n" + b"x" * 99 + b"\r\n") * 30)
    first = len(_messages(talk))
    dropped = talk.core.totals().dropped
    talk.events.clear()
    client.say((b"PUB s 99\r\n" + b"x" * 99 + b"\r\n") * 5)

    assert (10, 20) == (first, dropped)
    assert 5 == len(_messages(talk))


def test_a_full_sink_that_refuses_is_nobody_there(talk: Talk) -> None:
    talk.core.subscribe_sink(0, b"s", bytes_max=1, overflow=Overflow.REFUSE)
    client = talk.client(no_responders=True)
    client.say(b"SUB _I 1\r\nPUB s _I 5\r\nfirst\r\nPUB s _I 6\r\nsecond\r\n")

    assert [b"first"] == [payload for *_, payload in _messages(talk)]
    assert 1 == client.heard().count(b"NATS/1.0 503")


def test_a_full_sink_that_stalls_loses_nothing_of_a_client(talk: Talk) -> None:
    talk.core.subscribe_sink(0, b"s", bytes_max=100, overflow=Overflow.STALL)
    talk.client().say((b"PUB s 99\r\n" + b"x" * 99 + b"\r\n") * 30)

    assert 30 == len(_messages(talk))
    assert 1 == talk.core.totals().kinds[LinkKind.CLIENT].stalled


def test_half_of_a_sink_that_stalls_is_for_those_that_are_not_stalled(talk: Talk) -> None:
    talk.core.subscribe_sink(0, b"s", bytes_max=1000, overflow=Overflow.STALL)
    client, route = talk.client(), talk.route()
    client.say((b"PUB s 99\r\n" + b"c" * 99 + b"\r\n") * 6)
    stalled = talk.core.totals().kinds[LinkKind.CLIENT].stalled
    route.say((b"RMSG $G s 99\r\n" + b"r" * 99 + b"\r\n") * 6)
    from_routes = [payload for *_, payload in _messages(talk) if payload.startswith(b"r")]

    assert (1, 4) == (stalled, len(from_routes))


def test_a_port_is_refused_what_a_sink_that_stalls_has_no_room_for(talk: Talk) -> None:
    talk.core.subscribe_sink(0, b"s", bytes_max=1000, overflow=Overflow.STALL)
    port, outgoing = talk.core.open_port(), Outgoing()
    for number in range(30):
        outgoing.add(0, b"s", bytes(100), token=number)
    assert port.publish(outgoing)
    talk.turn()
    told = port.take()

    assert 10 == len(_messages(talk))
    assert told is not None
    assert list(range(10, 30)) == [told.tag(at) for at in range(len(told))]


def test_a_sink_in_a_queue_group_shares_with_clients(talk: Talk) -> None:
    talk.core.subscribe_sink(0, b"s", b"g")
    member = talk.client()
    member.say(b"SUB s g 1\r\n")
    talk.client().say(b"PUB s 1\r\nx\r\n" * 1000)
    theirs = member.heard().count(b"MSG")

    assert 1000 == theirs + len(_messages(talk))
    assert 400 < theirs < 600


def test_a_sink_that_ended_gets_no_more(talk: Talk) -> None:
    sink = talk.core.subscribe_sink(0, b"s")
    client = talk.client()
    client.say(b"PUB s 1\r\n1\r\n")
    talk.core.unsubscribe_sink(sink)
    talk.core.unsubscribe_sink(sink)
    talk.turn()
    client.say(b"PUB s 1\r\n2\r\n")

    assert [b"1"] == [payload for *_, payload in _messages(talk)]
    assert 0 == talk.core.totals().subscriptions


def test_what_the_process_publishes_reaches_clients_routes_and_sinks(talk: Talk) -> None:
    client, route = talk.client(), talk.route()
    client.say(b"SUB p.> 1\r\n")
    route.say(b"RS+ $G p.*\r\n")
    route.heard()
    talk.core.subscribe_sink(0, b"p.x")
    talk.core.publish(
        0,
        [
            (b"p.x", b"", b"", b"plain"),
            (b"p.x", b"re", b"NATS/1.0\r\n\r\n", b"two"),
            (b"p.x", b"", b"", b"plain"),
        ],
    )
    talk.turn()
    talk.turn()

    assert (
        b"MSG p.x 1 5\r\nplain\r\n"
        b"HMSG p.x 1 re 12 15\r\nNATS/1.0\r\n\r\ntwo\r\n"
        b"MSG p.x 1 5\r\nplain\r\n" == client.heard()
    )
    assert 3 == route.heard().count(b"MSG $G p.x ")
    assert [b"plain", b"two", b"plain"] == [payload for *_, payload in _messages(talk)]
    assert 0 == talk.of(Delivered)[0].batch.link(0)


@pytest.mark.parametrize("subject", [b"", b"a b", b"a\r\nPUB b 0", b"a\tb", b"\0"])
def test_a_subject_cannot_smuggle_a_line(talk: Talk, subject: bytes) -> None:
    with pytest.raises(ValueError, match="subject"):
        talk.core.publish(0, [(subject, b"", b"", b"")])


def test_accounts_are_apart(talk: Talk) -> None:
    other = talk.core.add_account(b"OTHER")
    talk.core.subscribe_sink(other, b"s")
    client = talk.client()
    client.say(b"SUB s 1\r\nPUB s 1\r\nx\r\n")
    client.heard()
    talk.core.publish(other, [(b"s", b"", b"", b"there")])
    talk.turn()
    talk.turn()

    assert other == talk.core.add_account(b"OTHER")
    assert [b"there"] == [payload for *_, payload in _messages(talk)]
    assert b"" == client.heard()


def test_the_first_drop_is_told_at_once_by_a_batch_without_messages(talk: Talk) -> None:
    talk.core.subscribe_sink(0, b"s", bytes_max=1, overflow=Overflow.DROP)
    client = talk.client()
    client.say(b"PUB s 2\r\nhi\r\n")
    drops = talk.of(Delivered)[0].batch.drops()
    assert 0 == drops.count
    client.say(b"PUB s 2\r\nhi\r\n")
    client.say(b"PUB s 2\r\nhi\r\n")

    assert [1, 0] == [len(event.batch) for event in talk.of(Delivered)]
    assert 2 == drops.count
    talk.events.clear()
    assert 2 == drops.count
