"""Ports: subscribers and publishers on threads of their own."""

from __future__ import annotations

import gc
import random
import select
import threading
from typing import TYPE_CHECKING

import pytest

from framework.dataplane import Greeting, LinkKind, Overflow, Plane, PlaneLimits
from framework.dataplane.port import Outgoing, Port
from framework.spec import RowKind, RowWord
from framework.tests.dataplane.watched import CURRENT, Watched
from framework.tests.sockets import WAIT_S, tcp_pair

if TYPE_CHECKING:
    from framework.tests.dataplane.conftest import Talk

Row = tuple[int, bytes, bytes, bytes, bytes]


def rows(port: Port) -> list[Row | tuple[RowKind, int, RowWord]]:
    """Take all that waits: messages, and words as (kind, tag, word)."""
    taken: list[Row | tuple[RowKind, int, RowWord]] = []
    while (batch := port.take()) is not None:
        for at in range(len(batch)):
            if batch.kind(at) == RowKind.MESSAGE:
                parts = (batch.subject, batch.reply, batch.header, batch.payload)
                taken.append((batch.tag(at), *(bytes(part(at)) for part in parts)))
            else:
                word = RowWord(batch.word(at))
                taken.append((RowKind(batch.kind(at)), batch.tag(at), word))
    return taken


def publish(port: Port, *messages: tuple[bytes, bytes], **options: object) -> None:
    """Publish messages in `$G`."""
    outgoing = Outgoing()
    for subject, payload in messages:
        outgoing.add(0, subject, payload, **options)
    assert port.publish(outgoing)
    assert len(outgoing) == 0


def is_ready(port: Port) -> bool:
    return bool(select.select([port], [], [], 0)[0])


def test_each_subscription_of_a_port_has_its_tag(talk: Talk) -> None:
    port = talk.core.open_port()
    port.subscribe(0, b"a.*", tag=-5)
    port.subscribe(0, b"a.b", tag=1 << 62)
    port.subscribe(0, b"q", b"group", tag=0)
    client = talk.client()
    client.say(b"PUB a.b r 1\r\nx\r\nHPUB q 12 13\r\nNATS/1.0\r\n\r\ny\r\nPUB a.c 0\r\n\r\n")

    first, second, *others = rows(port)
    assert {first, second} == {(-5, b"a.b", b"r", b"", b"x"), (1 << 62, b"a.b", b"r", b"", b"x")}
    assert others == [(0, b"q", b"", b"NATS/1.0\r\n\r\n", b"y"), (-5, b"a.c", b"", b"", b"")]
    assert rows(port) == []


def test_a_subscription_ends_by_its_tag_and_its_tag_is_free_then(talk: Talk) -> None:
    port = talk.core.open_port()
    port.subscribe(0, b"a", tag=1)
    port.subscribe(0, b"b", tag=1)
    client = talk.client()
    client.say(b"PUB a 0\r\n\r\nPUB b 0\r\n\r\n")
    assert rows(port) == [(RowKind.ANSWER, 1, RowWord.REFUSED), (1, b"a", b"", b"", b"")]
    port.unsubscribe(1)
    port.subscribe(0, b"b", tag=1)
    client.say(b"PUB a 0\r\n\r\nPUB b 0\r\n\r\n")

    assert rows(port) == [(1, b"b", b"", b"", b"")]
    assert talk.core.totals().subscriptions == 1


def test_ports_are_interest_for_routes_and_members_of_queue_groups(talk: Talk) -> None:
    route = talk.route()
    port = talk.core.open_port()
    port.subscribe(0, b"a", tag=1)
    port.subscribe(0, b"b", b"g", tag=2)
    assert route.heard() == b"RS+ $G a\r\nRS+ $G b g 1\r\n"
    route.say(b"RMSG $G a 1\r\nx\r\nRMSG $G b | g 1\r\ny\r\n")
    assert [row[0] for row in rows(port)] == [1, 2]
    port.close()

    assert route.heard() == b"RS- $G b g\r\nRS- $G a\r\n"
    assert is_ready(port)
    with pytest.raises(BrokenPipeError):
        port.subscribe(0, b"a", tag=1)


def test_what_a_port_publishes_reaches_everybody_in_order(talk: Talk) -> None:
    port = talk.core.open_port()
    port.subscribe(0, b"s.>", tag=3)
    client, route = talk.client(), talk.route()
    client.say(b"SUB s.* 7\r\n")
    route.say(b"RS+ $G s.1\r\n")
    route.heard()
    publish(port, (b"s.1", b"one"), (b"s.2", b"two"), reply=b"r")
    publish(port, (b"s.3", b"three"), header=b"NATS/1.0\r\n\r\n")

    assert client.heard() == (
        b"MSG s.1 7 r 3\r\none\r\nMSG s.2 7 r 3\r\ntwo\r\n"
        b"HMSG s.3 7 12 17\r\nNATS/1.0\r\n\r\nthree\r\n"
    )
    assert route.heard() == b"RMSG $G s.1 r 3\r\none\r\n"
    assert [row[1] for row in rows(port)] == [b"s.1", b"s.2", b"s.3"]


def test_long_bodies_of_a_port_are_sent_from_where_they_lie_though_it_is_gone(talk: Talk) -> None:
    port = talk.core.open_port()
    client, other, slow = talk.client(), talk.client(), talk.client(headers=False)
    for peer in (client, other, slow):
        peer.say(b"SUB > 1\r\n")
        peer.heard()
    bodies = [bytes([at]) * 20_000 for at in range(1, 31)]
    publish(port, (b"s", b"x"), *[(b"s", body) for body in bodies[:9]], header=b"NATS/1.0\r\n\r\n")
    talk.turn()
    publish(port, *[(b"s", body) for body in bodies[9:]])  # more than links refer to
    talk.turn()
    publish(port, *[(b"s", body) for body in bodies])  # more than is referred to for one of them
    talk.turn()
    port.close()
    talk.turn()
    del port
    heads = [b"HMSG s 1 12 20012\r\nNATS/1.0\r\n\r\n"] * 9 + [b"MSG s 1 20000\r\n"] * 51
    plain = b"".join(b"MSG s 1 20000\r\n%s\r\n" % body for body in (*bodies, *bodies))
    wanted = b"".join(
        head + body + b"\r\n" for head, body in zip(heads, (*bodies, *bodies), strict=True)
    )

    assert client.heard() == b"HMSG s 1 12 13\r\nNATS/1.0\r\n\r\nx\r\n" + wanted
    assert other.heard() == b"HMSG s 1 12 13\r\nNATS/1.0\r\n\r\nx\r\n" + wanted
    assert slow.heard() == b"MSG s 1 1\r\nx\r\n" + plain


def test_an_inbox_gets_what_shows_another_subject(talk: Talk) -> None:
    port = talk.core.open_port()
    port.subscribe(0, b"inbox", tag=1)
    client, other, route = talk.client(), talk.client(), talk.route()
    client.say(b"SUB inbox 1\r\n")
    other.say(b"SUB orders.> 1\r\n")
    route.say(b"RS+ $G inbox\r\n")
    route.heard()
    publish(port, (b"orders.0", b"x"), reply=b"$JS.ACK.1", inbox=b"inbox")

    assert client.heard() == b"MSG orders.0 1 $JS.ACK.1 1\r\nx\r\n"
    assert other.heard() == b""
    assert route.heard() == b"RMSG $G inbox $JS.ACK.1@orders.0 1\r\nx\r\n"
    assert rows(port) == [(1, b"orders.0", b"$JS.ACK.1", b"", b"x")]


def test_a_message_with_a_token_is_answered_when_nobody_has_got_it(talk: Talk) -> None:
    port = talk.core.open_port()
    client = talk.client()
    client.say(b"SUB a 1\r\n")
    outgoing = Outgoing()
    for token, subject in enumerate((b"a", b"b", b"c")):
        outgoing.add(0, subject, b"", token=token)
    outgoing.add(99, b"a", b"", token=77)
    outgoing.add(0, b"d", b"")
    port.publish(outgoing)
    talk.turn()

    assert rows(port) == [
        (RowKind.ANSWER, 1, RowWord.NOBODY),
        (RowKind.ANSWER, 2, RowWord.NOBODY),
        (RowKind.ANSWER, 77, RowWord.REFUSED),
    ]


def test_who_delivers_too_fast_is_told_and_told_again_when_there_is_room(talk: Talk) -> None:
    port = talk.core.open_port(said_bytes_max=64 << 20)
    client = talk.client()
    client.say(b"SUB inbox 1\r\n")
    for token in range(6):
        publish(port, (b"s", bytes(1 << 20)), inbox=b"inbox", token=token)
        talk.turn()
    full = [(RowKind.ANSWER, token, RowWord.FULL) for token in (3, 4, 5)]
    assert [row for row in rows(port) if row not in full] == []
    assert len(client.heard()) > 6 << 20
    talk.turn()

    assert rows(port) == [(RowKind.ANSWER, 5, RowWord.ROOM)]


def test_a_watch_tells_of_interest_near_and_far(talk: Talk) -> None:
    somebody, nobody = RowWord.SOMEBODY, RowWord.NOBODY
    port, other = talk.core.open_port(), talk.core.open_port()
    client, route = talk.client(), talk.route()
    port.watch(0, b"inbox.1", tag=1)
    port.watch(0, b"inbox.2", tag=2)
    other.watch(0, b"inbox.1", tag=9)

    def told(tag: int, word: RowWord) -> tuple[RowKind, int, RowWord]:
        return (RowKind.INTEREST, tag, word)

    talk.turn()
    assert sorted(rows(port)) == [told(1, nobody), told(2, nobody)]
    assert rows(other) == [told(9, nobody)]
    client.say(b"SUB inbox.1 1\r\n")
    assert rows(port) == [told(1, somebody)]
    route.say(b"RS+ $G inbox.1\r\n")
    client.say(b"UNSUB 1\r\n")
    assert rows(port) == []
    route.say(b"RS- $G inbox.1\r\n")
    assert rows(port) == [told(1, nobody)]
    client.say(b"SUB inbox.* 2\r\n")
    assert sorted(rows(port)) == [told(1, somebody), told(2, somebody)]
    port.unwatch(1)
    client.say(b"UNSUB 2\r\n")
    assert rows(port) == [told(2, nobody)]
    assert rows(other) == [told(9, somebody), told(9, nobody)] * 2
    port.watch(0, b"inbox.*", tag=3)
    talk.turn()
    assert rows(port) == [(RowKind.ANSWER, 3, RowWord.REFUSED)]


@pytest.mark.parametrize(("overflow", "answers"), [(Overflow.REFUSE, 1), (Overflow.DROP, 0)])
def test_a_port_that_takes_nothing_holds_no_more_than_it_may(
    talk: Talk, overflow: Overflow, answers: int
) -> None:
    port = talk.core.open_port(bytes_max=1_000, overflow=overflow)
    port.subscribe(0, b"s", tag=1)
    client = talk.client(no_responders=True)
    client.say(b"SUB r 1\r\n")
    client.heard()
    client.say(b"PUB s r 500\r\n%b\r\n" % bytes(500) * 5)

    assert (b" 503\r\n" in client.heard()) is bool(answers)
    assert len(rows(port)) == 2
    gc.collect()
    client.say(b"PUB s r 0\r\n\r\n")
    assert len(rows(port)) == 1


def test_what_the_plane_has_not_taken_is_bounded(talk: Talk) -> None:
    port = talk.core.open_port(said_bytes_max=1_000)
    outgoing = Outgoing()
    outgoing.add(0, b"a", bytes(1_000))
    assert port.publish(outgoing)
    outgoing.add(0, b"a", b"")
    assert rows(port) == []
    assert not port.publish(outgoing)
    assert not port.publish_batch(outgoing.records())
    assert not is_ready(port)
    talk.turn()

    assert is_ready(port)
    assert port.publish(outgoing)


def test_a_port_with_much_to_say_holds_up_nobody(talk: Talk) -> None:
    port = talk.core.open_port()
    client = talk.client()
    client.say(b"".join(b"SUB a %d\r\n" % sid for sid in range(3_000)))
    client.heard()
    publish(port, *[(b"a", b"x")] * 100)
    talk.core.turn(0)
    before = talk.core.work
    talk.core.turn(0)
    assert talk.core.work - before < 40_000  # of 300,000 and more
    talk.turn()

    assert client.heard().count(b"MSG a ") == 300_000


def test_an_account_that_is_removed_takes_subscriptions_of_ports_with_it(talk: Talk) -> None:
    account = talk.core.add_account(b"A")
    port = talk.core.open_port()
    port.subscribe(account, b"a", tag=1)
    port.subscribe(0, b"a", tag=2)
    talk.turn()
    talk.core.remove_account(account)
    talk.turn()
    assert talk.core.totals().subscriptions == 1
    port.unsubscribe(1)
    port.subscribe(0, b"b", tag=1)
    talk.client().say(b"PUB a 0\r\n\r\nPUB b 0\r\n\r\n")

    assert [row[0] for row in rows(port)] == [2, 1]


@pytest.mark.parametrize("word", [b"", b"a b", b"a\r\nPUB b 0\r\n", b"a\x7f"])
def test_words_that_cannot_stand_in_a_line_are_refused(talk: Talk, word: bytes) -> None:
    port = talk.core.open_port()
    outgoing = Outgoing()
    with pytest.raises(ValueError, match="protocol line"):
        port.subscribe(0, word, tag=1)
    with pytest.raises(ValueError, match="protocol line"):
        outgoing.add(0, word, b"")
    if word:
        with pytest.raises(ValueError, match="protocol line"):
            outgoing.add(0, b"a", b"", inbox=word)
    port.subscribe(0, b"a..b", tag=4)
    talk.turn()

    assert rows(port) == [(RowKind.ANSWER, 4, RowWord.REFUSED)]


def test_records_are_checked_byte_by_byte(talk: Talk) -> None:
    port = talk.core.open_port()
    port.subscribe(0, b">", tag=1)
    outgoing = Outgoing()
    outgoing.add(0, b"first", b"payload", reply=b"r", token=3)
    outgoing.add(0, b"second", b"")
    whole = outgoing.records()
    assert port.publish_batch(whole)
    talk.turn()
    assert [row[1] for row in rows(port)] == [b"first", b"second"]
    rng = random.Random(4)
    published = 0
    for _ in range(3_000):
        torn = bytearray(whole[: rng.choice([len(whole), rng.randrange(len(whole))])])
        for _ in range(rng.randrange(3)):
            if torn:
                torn[rng.randrange(len(torn))] = rng.choice([0, 1, 8, 32, 255])
        try:
            published += port.publish_batch(torn)
        except ValueError:
            continue
        talk.turn()
        rows(port)

    assert published > 100


def test_interest_that_was_told_before_a_request_is_heard(talk: Talk) -> None:
    """In one turn of the plane: it looks for interest again behind what it reads."""
    port = talk.core.open_port()
    client = talk.client()
    talk.core.turn(0)
    port.subscribe(0, b"a", tag=1)
    talk.core.feed(client.link, b"PUB a 0\r\n\r\n", 0)
    talk.core.turn(0)

    assert [row[1] for row in rows(port)] == [b"a"]


def test_servers_are_told_of_interest_before_what_a_command_publishes(talk: Talk) -> None:
    """Who is told that a stream was made publishes at once, wherever he is."""
    route = talk.route()
    route.say(b"RS+ $G told\r\n")
    port = talk.core.open_port()
    talk.turn()
    port.subscribe(0, b"a", tag=1)
    talk.core.publish(0, [(b"told", b"", b"", b"")])

    assert route.heard() == b"RS+ $G a\r\nRMSG $G told 0\r\n\r\n"


def test_a_reply_finds_the_interest_of_the_port_that_asked(talk: Talk) -> None:
    """A request may overtake in its FIFO the interest in its reply, and still finds it."""
    asking, answering = talk.core.open_port(), talk.core.open_port()
    answering.subscribe(0, b"service", tag=1)
    talk.turn()
    publish(asking, (b"service", b""), reply=b"inbox")
    asking.subscribe(0, b"inbox", tag=2)
    talk.turn()
    ((_, _, reply, _, _),) = rows(answering)
    publish(answering, (reply, b"yes"))
    talk.turn()

    assert rows(asking) == [(2, b"inbox", b"", b"", b"yes")]


def test_a_thread_of_its_own_answers_clients() -> None:
    plane = Plane(PlaneLimits())
    near, peer = tcp_pair()
    plane.adopt(near, LinkKind.CLIENT, 1)
    port = plane.open_port()
    port.subscribe(0, b"service", tag=1)
    plane.start()

    def serve() -> None:
        left = 1_000
        while left:
            select.select([port], [], [])
            outgoing = Outgoing()
            while (batch := port.take()) is not None:
                for at in range(len(batch)):
                    outgoing.add(0, bytes(batch.reply(at)), bytes(batch.payload(at)))
                    left -= 1
            assert port.publish(outgoing)

    server = threading.Thread(target=serve)
    server.start()
    watched = Watched(plane)
    peer.sendall(b"CONNECT {}\r\n")
    plane.resume_client(watched.take(Greeting).link, **CURRENT)
    with peer:
        peer.settimeout(WAIT_S)
        peer.sendall(b"SUB inbox 1\r\n" + b"PUB service inbox 4\r\nping\r\n" * 1_000)
        heard = b""
        while heard.count(b"MSG inbox 1 4\r\nping\r\n") < 1_000:
            heard += peer.recv(65_536)
    server.join(WAIT_S)
    plane.stop(WAIT_S)

    assert is_ready(port)
    with pytest.raises(BrokenPipeError):
        port.publish_batch(b"")


def test_what_is_left_when_core_and_port_go_in_any_order(talk: Talk) -> None:
    for keeps in ("core", "port", "batch", "capsule"):
        fresh = type(talk)()
        port = fresh.core.open_port()
        port.subscribe(0, b"a", tag=1)
        port.watch(0, b"a", tag=2)
        client = fresh.client()
        client.say(b"PUB a 1\r\nx\r\n")
        kept = {"core": fresh.core, "port": port, "batch": port.take(), "capsule": port.capsule()}
        publish(port, (b"a", b"never taken"))
        port.subscribe(0, b"b", tag=3)
        one = kept[keeps]
        del kept, port, client, fresh
        gc.collect()
        del one
        gc.collect()
