"""Coded links: two cores that compress what they say, and what becomes of bad streams."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from framework.dataplane import (
    Closed,
    Coding,
    Greeting,
    PlaneLimits,
    Traced,
)
from framework.tests.dataplane.conftest import Peer, Talk
from framework.tests.wire.s2_model import IDENTIFIER, masked_crc, plain_of
from framework.wire.closed_state import ClosedState
from framework.wire.s2 import Decoder, encode

if TYPE_CHECKING:
    from framework.dataplane import LinkRow

LEVELS = pytest.mark.parametrize("coding", list(Coding))
PLAIN_MAX = 4_194_304
TURN_BYTES = 262_144
ROUTE = b'CONNECT {"cluster":"c"}\r\n'


@dataclass
class Coded(Peer):
    """A far end that speaks S2."""

    decoder: Decoder = field(default_factory=Decoder)

    def tell(self, plain: bytes, coding: Coding = Coding.S2_FAST) -> None:
        """Say something, coded."""
        self.say(encode(plain, coding))

    def heard_plain(self) -> bytes:
        """Return what came since the last time, decoded."""
        return self.decoder.feed(self.heard())


def coded_route(
    talk: Talk, coding: Coding = Coding.S2_FAST, *, behind: bytes = b"", registered: bool = True
) -> Coded:
    """Return a route that is coded, and sent `behind` together with its greeting."""
    route = Coded(talk, talk.route(registered=False).link)
    route.say(ROUTE + behind)
    talk.core.set_coding(route.link, coding)
    if registered:
        talk.core.register_peer(route.link)
    talk.turn()
    if registered:
        assert b"PING\r\n" in route.heard_plain()
    return route


def row_of(talk: Talk, link: int) -> LinkRow:
    """Return the state of one link."""
    (row,) = talk.links(link=link)
    return row


def closed(talk: Talk) -> list[tuple[ClosedState, str]]:
    """Return how links have ended."""
    return [(event.reason, event.detail) for event in talk.events if isinstance(event, Closed)]


def chunk(plain: bytes) -> bytes:
    """Return a chunk of data that is not compressed."""
    body = masked_crc(plain).to_bytes(4, "little") + plain
    return b"\x01" + len(body).to_bytes(3, "little") + body


# ---- saying


@LEVELS
def test_what_a_coded_link_is_told_is_one_stream(talk: Talk, coding: Coding) -> None:
    client, route = talk.client(), coded_route(talk, coding)
    route.tell(b"RS+ $G a\r\n")
    client.say(b"SUB b 1\r\n" + b"PUB a 5\r\nhello\r\n" * 100)
    stream = route.heard()

    assert b"RS+ $G b\r\n" + b"RMSG $G a 5\r\nhello\r\n" * 100 == plain_of(stream)
    assert 1 == stream.count(IDENTIFIER)


def test_what_was_said_before_goes_out_plain(talk: Talk) -> None:
    route = talk.route(registered=False)
    route.say(ROUTE)
    talk.core.send(route.link, b"INFO {}\r\n")
    talk.core.set_coding(route.link, Coding.S2_FAST)
    talk.core.send(route.link, b"INFO {1}\r\n")
    talk.core.send(route.link, b"INFO {2}\r\n")
    plain, mark, stream = route.heard().partition(IDENTIFIER)

    assert plain == b"INFO {}\r\n"
    assert plain_of(mark + stream) == b"INFO {1}\r\nINFO {2}\r\n"


def test_the_level_of_a_coded_link_can_be_changed(talk: Talk) -> None:
    client, route = talk.client(), coded_route(talk, Coding.S2_UNCOMPRESSED)
    route.tell(b"RS+ $G a\r\n")
    lengths = []
    for coding in Coding:
        talk.core.set_coding(route.link, coding)
        client.say(b"PUB a 1000\r\n%b\r\n" % (b"again and " * 100) * 100)
        stream = route.heard()
        lengths.append(len(stream))

        assert b"RMSG $G a 1000\r\n%b\r\n" % (b"again and " * 100) * 100 == plain_of(stream)
    assert lengths[0] > 100_000
    assert max(lengths[1:]) < 10_000


@LEVELS
@pytest.mark.parametrize("size", [8_192, 300_000, 1_048_576])
def test_large_payloads_are_encoded_where_they_lie(talk: Talk, coding: Coding, size: int) -> None:
    client, route = talk.client(), coded_route(talk, coding)
    plain = talk.route()
    route.tell(b"RS+ $G a\r\n")
    plain.say(b"RS+ $G a\r\n")
    payload = bytes(number * number >> 8 & 0xFF for number in range(size))
    client.say(b"PUB a %d\r\n%b\r\n" % (size, payload) * 3)
    told = b"RMSG $G a %d\r\n%b\r\n" % (size, payload) * 3

    assert told == plain.heard()
    assert told == route.heard_plain()


@pytest.mark.parametrize(("coding", "streams"), [(0, 2), (1, 3), (2, 10), (3, 39)])
def test_much_becomes_several_streams_the_more_thorough_the_shorter(
    talk: Talk, coding: int, streams: int
) -> None:
    client, route = talk.client(), coded_route(talk, Coding(coding))
    route.tell(b"RS+ $G a\r\n")
    said = b"PUB a 50000\r\n%b\r\n" % (b"x" * 50_000) * 25
    client.say(said)
    stream = route.heard()

    assert streams == stream.count(IDENTIFIER)
    assert said.replace(b"PUB a", b"RMSG $G a") == Decoder().feed(stream)


def test_the_last_words_of_a_coded_link_are_coded(talk: Talk) -> None:
    route = coded_route(talk)
    talk.core.close(route.link, ClosedState.SERVER_SHUTDOWN, b"-ERR 'bye'\r\n" * 200_000)
    talk.turn()

    assert b"-ERR 'bye'\r\n" * 200_000 == Decoder().feed(route.heard())


def test_what_waits_for_a_coded_link_counts_plain_until_it_is_encoded() -> None:
    talk = Talk(PlaneLimits(max_pending=100_000))
    client, route = talk.client(), coded_route(talk)
    route.tell(b"RS+ $G a\r\n")
    talk.core.feed(client.link, b"PUB a 1000\r\n%b\r\n" % (b"x" * 1_000) * 90, 0)
    talk.turn()
    assert 90_000 < row_of(talk, route.link).pending_bytes
    talk.core.take_output(route.link)
    assert 0 == row_of(talk, route.link).pending_bytes
    talk.core.feed(client.link, b"PUB a 1000\r\n%b\r\n" % (b"x" * 1_000) * 200, 0)
    talk.turn()

    assert [(ClosedState.SLOW_CONSUMER_PENDING_BYTES, "")] == closed(talk)


def test_rows_tell_the_bytes_on_the_wire(talk: Talk) -> None:
    client, route = talk.client(), coded_route(talk)
    stream = encode(b"RS+ $G a\r\n", 1)
    route.say(stream)
    before = row_of(talk, route.link).wire_out_bytes
    client.say(b"PUB a 10000\r\n%b\r\n" % (b"x" * 10_000))
    came = route.heard()
    coded, plain = row_of(talk, route.link), row_of(talk, client.link)

    assert len(ROUTE) + len(stream) == coded.wire_in_bytes
    assert len(came) == coded.wire_out_bytes - before < 1_000
    assert 10_000 == coded.out_bytes
    assert plain.wire_in_bytes > 10_000
    assert plain.wire_out_bytes == 0


# ---- hearing


@LEVELS
def test_what_came_behind_the_greeting_is_coded(talk: Talk, coding: Coding) -> None:
    client = talk.client()
    stream = encode(b"RS+ $G a\r\n", coding)
    route = coded_route(talk, behind=stream[:-3])
    route.say(stream[-3:])
    client.say(b"PUB a 2\r\nhi\r\n")

    assert b"RMSG $G a 2\r\nhi\r\n" == route.heard_plain()


@LEVELS
@pytest.mark.parametrize("whole", [True, False])
def test_two_cores_speak_to_each_other(coding: Coding, *, whole: bool) -> None:
    here, there = Talk(), Talk()
    near, far = coded_route(here, coding), coded_route(there, coding)
    publisher, subscriber = here.client(), there.client()

    def exchange() -> None:
        while said := [(near, far, near.heard()), (far, near, far.heard())]:
            for _, to, data in said:
                for piece in [data] if whole else [data[at : at + 1] for at in range(len(data))]:
                    to.talk.core.feed(to.link, piece, 0)
            if not any(data for *_, data in said):
                return

    subscriber.say(b"SUB a.> 1\r\nSUB a.> q 2\r\n")
    exchange()
    publisher.say(b"SUB r 1\r\n")
    for size in (0, 1, 100, 9_000, 70_000, 100_000):
        publisher.say(b"PUB a.b r %d\r\n%b\r\n" % (size, b"x" * size))
        exchange()
        got = b"MSG a.b %d r %d\r\n" + b"x" * size + b"\r\n"

        assert got % (1, size) + got % (2, size) == subscriber.heard()
    subscriber.say(b"PUB r 2\r\nhi\r\n")
    exchange()

    assert b"MSG r 1 2\r\nhi\r\n" == publisher.heard()
    assert [] == closed(here) + closed(there)


@pytest.mark.parametrize("size", [1, 7, 300_000, 1_000_000])
def test_frames_and_chunks_have_nothing_to_do_with_each_other(talk: Talk, size: int) -> None:
    client, route = talk.client(), coded_route(talk)
    client.say(b"SUB > 1\r\n")
    route.heard()
    frames = b"RMSG $G a 9\r\nabcdefghi\r\n" * 3 + b"".join(
        b"RMSG $G a %d\r\n%b\r\n" % (length, b"y" * length)
        for length in (size // 2, 70_000, 3, 500_000)
    )
    stream = IDENTIFIER + b"".join(
        chunk(frames[at : at + size]) for at in range(0, len(frames) if size > 100 else 900, size)
    )
    frames = frames if size > 100 else frames[:66]
    for at in range(0, len(stream), 100_000):
        route.say(stream[at : at + 100_000])
        for _ in range(8):
            talk.turn()
    got = client.heard()

    assert got.startswith(frames.replace(b"RMSG $G a", b"MSG a 1"))


def test_a_greeting_in_the_middle_of_a_chunk_holds_back_the_rest(talk: Talk) -> None:
    client, route = talk.client(), coded_route(talk, registered=False)
    talk.core.resume(route.link)
    talk.turn()
    route.tell(b"INFO {}\r\nRS+ $G a\r\nINFO {2}\r\nRS+ $G b\r\n")
    route.tell(b"RS+ $G c\r\n")
    said = [event.document for event in talk.events if isinstance(event, Greeting)]
    assert [b'{"cluster":"c"}', b"{}"] == said[-2:]
    client.say(b"PUB a 1\r\n1\r\nPUB b 1\r\n2\r\n")
    assert b"" == route.heard_plain()
    talk.core.register_peer(route.link)
    talk.turn()
    client.say(b"PUB a 1\r\n1\r\nPUB b 1\r\n2\r\nPUB c 1\r\n3\r\n")

    messages = b"RMSG $G a 1\r\n1\r\nRMSG $G b 1\r\n2\r\nRMSG $G c 1\r\n3\r\n"
    assert b"PING\r\n" + messages == route.heard_plain()


def test_lines_are_traced_as_they_were_before_coding(talk: Talk) -> None:
    client, route = talk.client(), coded_route(talk)
    talk.core.trace(on=True)
    talk.turn()
    route.tell(b"RS+ $G a\r\n")
    client.say(b"PUB a 2\r\nhi\r\n")
    lines = [
        (event.inbound, event.text)
        for event in talk.events
        if isinstance(event, Traced) and event.link == route.link
    ]

    assert [(True, b"RS+ $G a"), (False, b"RMSG $G a 2"), (False, b"hi")] == lines


def test_a_link_that_hangs_up_in_a_chunk_has_said_the_chunks_before(talk: Talk) -> None:
    client, route = talk.client(), coded_route(talk)
    client.say(b"SUB a 1\r\n")
    stream = encode(b"RMSG $G a 2\r\nhi\r\n", 0)
    route.say(stream + stream[:20])
    talk.core.hang_up(route.link)
    talk.turn()

    assert b"MSG a 1 2\r\nhi\r\n" == client.heard()
    assert [(ClosedState.CLIENT_CLOSED, "")] == closed(talk)


# ---- bad streams


@pytest.mark.parametrize(
    ("stream", "detail"),
    [
        (b"PING\r\n", "S2: unknown kind of chunk"),
        (chunk(b"PING\r\n"), "S2: no stream identifier"),
        (IDENTIFIER + chunk(b"PING\r\n")[:-1] + b"\r", "S2: bad checksum"),
        (IDENTIFIER + b"\x01\x01\x00\x00x", "S2: chunk too short"),
        (IDENTIFIER + b"\x01\xff\xff\xff", "S2: chunk too long"),
        (IDENTIFIER + b"\xfe\xff\xff\xff", "S2: chunk too long"),
        (IDENTIFIER + b"\x05\x00\x00\x00", "S2: unknown kind of chunk"),
    ],
)
def test_a_bad_stream_ends_its_link_and_no_other(talk: Talk, stream: bytes, detail: str) -> None:
    client, other, route = talk.client(), coded_route(talk), coded_route(talk)
    client.say(b"SUB a 1\r\n")
    route.tell(b"RMSG $G a 2\r\nhi\r\n") if stream[:1] == b"\xff" else None
    client.heard()
    route.say(stream)
    other.tell(b"RMSG $G a 2\r\nhi\r\n")

    assert [(ClosedState.READ_ERROR, detail)] == closed(talk)
    assert b"MSG a 1 2\r\nhi\r\n" == client.heard()


def test_a_turn_handles_no_more_of_a_bomb_than_of_any_link(talk: Talk) -> None:
    route = coded_route(talk)
    pings = b"PING\r\n" * 170_000
    stream = encode(pings, Coding.S2_BETTER) * 2
    assert len(stream) < 200_000
    talk.core.feed(route.link, stream, 0)
    answers = [route.decoder.feed(talk.core.take_output(route.link))]
    while answers[-1]:
        talk.core.turn(0)
        answers.append(route.decoder.feed(talk.core.take_output(route.link)))

    assert b"PONG\r\n" * 340_000 == b"".join(answers)
    assert TURN_BYTES + 6 > max(map(len, answers))


def bomb(plain: bytes, length: int) -> bytes:
    """Return a chunk of a few bytes that stands for `length`, `plain` again and again."""
    whole = (plain * (length // len(plain) + 1))[:length]
    number = bytes([length & 127 | 128, length >> 7 & 127 | 128, length >> 14 & 127 | 128])
    rest = (length - len(plain) - 4 - 65_540).to_bytes(3, "little")
    block = number + bytes([length >> 21, len(plain) - 1 << 2]) + plain
    block += bytes([1, len(plain), 0x1D, 0]) + rest
    body = masked_crc(whole).to_bytes(4, "little") + block
    return b"\x00" + len(body).to_bytes(3, "little") + body


def test_a_chunk_may_stand_for_four_mib_and_no_more(talk: Talk) -> None:
    route, other = coded_route(talk), coded_route(talk)
    largest = bomb(b"PING  \r\n", PLAIN_MAX)
    assert len(largest) < 40
    talk.core.feed(route.link, IDENTIFIER + largest * 3, 0)
    answers = [route.decoder.feed(talk.core.take_output(route.link))]
    while talk.core.is_busy:
        talk.core.turn(0)
        answers.append(route.decoder.feed(talk.core.take_output(route.link)))
    other.say(IDENTIFIER + bomb(b"PING\r\n", PLAIN_MAX + 1))

    assert b"PONG\r\n" * (3 * PLAIN_MAX // 8) == b"".join(answers)
    assert TURN_BYTES > max(map(len, answers))
    assert [(ClosedState.READ_ERROR, "S2: block too long")] == closed(talk)


@pytest.mark.parametrize("coded", [True, False])
def test_a_route_that_asks_and_does_not_read_is_cut_off(*, coded: bool) -> None:
    talk = Talk(PlaneLimits(max_pending=100_000))
    route = coded_route(talk) if coded else talk.route()
    pings = b"PING\r\n" * 30_000
    talk.core.feed(route.link, encode(pings, 1) if coded else pings, 0)
    talk.turn()

    assert [(ClosedState.SLOW_CONSUMER_PENDING_BYTES, "")] == closed(talk)


def test_a_route_that_is_told_much_may_ask_a_little() -> None:
    talk = Talk(PlaneLimits(max_pending=1_000))
    client = talk.client()
    client.say(b"".join(b"SUB a.%d %d\r\n" % (number, number) for number in range(1_000)))
    route = coded_route(talk)
    talk.core.feed(route.link, encode(b"PING\r\n", 1), 0)
    talk.turn()

    assert [] == closed(talk)
    assert route.heard_plain().endswith(b"PONG\r\n")


def outcome(stream: bytes, size: int) -> tuple[bytes, list[tuple[ClosedState, str]]]:
    """Return what a client hears of a route's stream that comes in pieces, and how that ends."""
    talk = Talk()
    client = talk.client()
    client.say(b"SUB > 1\r\n")
    route = coded_route(talk)
    for at in range(0, len(stream), size):
        talk.core.feed(route.link, stream[at : at + size], 0)
    talk.turn()
    talk.core.take_output(route.link)
    return client.heard(), closed(talk)


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_stream_gives_the_same_whole_and_byte_by_byte(seed: int) -> None:
    chance = random.Random(seed)
    frames = b"".join(
        b"RMSG $G a.%d %d\r\n%b\r\n" % (number, size, b"ab" * (size // 2))
        for number, size in enumerate(chance.choices((0, 2, 60, 900), k=20))
    )
    stream = bytearray(encode(frames, chance.randrange(4)) + encode(frames, chance.randrange(4)))
    if seed:
        for _ in range(chance.randint(1, 3)):
            stream[chance.randrange(len(stream))] = chance.randrange(256)
    heard, ends = outcome(bytes(stream), len(stream))

    assert (heard, ends) == outcome(bytes(stream), 1)
    assert all(reason is ClosedState.READ_ERROR for reason, _ in ends)
    assert bool(ends) or not seed or heard.count(b"MSG") % 20 == 0


# ---- orders


def test_a_link_that_is_not_parked_or_is_gone_stays_as_it_is(talk: Talk) -> None:
    client, route = talk.client(), talk.route()
    gone = talk.route()
    talk.core.hang_up(gone.link)
    for link in (gone.link, route.link, client.link, 12345):
        talk.core.set_coding(link, Coding.S2_FAST)
    talk.turn()
    route.say(b"RS+ $G a\r\n")
    client.say(b"PUB a 2\r\nhi\r\n")

    assert b"RMSG $G a 2\r\nhi\r\n" == route.heard()


def test_a_level_that_does_not_exist_is_refused(talk: Talk) -> None:
    with pytest.raises(ValueError, match="4 is not a valid Coding"):
        talk.core.set_coding(talk.route().link, 4)  # type: ignore[arg-type]
