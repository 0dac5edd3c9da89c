"""Coded links with real sockets: planes that are joined by one, and peers slow or mean."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from framework.dataplane import Closed, Coding, Greeting, LinkKind, Opened, Plane, PlaneLimits
from framework.tests.dataplane.watched import CURRENT, Watched
from framework.tests.sockets import WAIT_S, exactly, line
from framework.tests.wire.s2_model import IDENTIFIER
from framework.wire.closed_state import ClosedState
from framework.wire.s2 import Decoder, encode

if TYPE_CHECKING:
    from collections.abc import Iterator

READ_BYTES = 262_144
"""What a plane reads of a link in one turn, at most."""


class Side(Watched):
    """A plane with a coded route and clients."""

    def __init__(self, poller: str) -> None:
        super().__init__(Plane(PlaneLimits(), poller=poller))
        self.plane.start()

    def adopt(self, kind: LinkKind) -> tuple[socket.socket, int]:
        """Return the far end of a new link that has sent its greeting, and its number."""
        near, far = socket.socketpair()
        far.settimeout(WAIT_S)
        self.plane.adopt(near, kind, 0)
        link = self.take(Opened).link
        far.sendall(b"INFO {}\r\n" if kind is LinkKind.ROUTE else b"CONNECT {}\r\n")
        assert self.take(Greeting).link == link
        return far, link

    def code(self, link: int, coding: Coding) -> None:
        """Code a route and let it begin."""
        self.plane.set_coding(link, coding)
        self.plane.register_peer(link)

    def route(self, coding: Coding) -> tuple[socket.socket, int]:
        """Return the far end of a coded route, and its number."""
        far, link = self.adopt(LinkKind.ROUTE)
        self.code(link, coding)
        return far, link

    def client(self) -> socket.socket:
        """Return a client that has logged in."""
        far, link = self.adopt(LinkKind.CLIENT)
        self.plane.resume_client(link, **CURRENT)
        return far


def ask(sock: socket.socket, said: bytes) -> bytes:
    """Say something, and return what comes until it is all done."""
    sock.sendall(said + b"PING\r\n")
    answer = b""
    while not answer.endswith(b"PONG\r\n"):
        answer += line(sock)
    return answer[:-6]


@pytest.fixture(params=["epoll", "poll"])
def sides(request: pytest.FixtureRequest) -> Iterator[tuple[Side, Side]]:
    """Return two planes that are stopped at the end."""
    made = Side(request.param), Side(request.param)
    yield made
    for side in made:
        side.plane.stop(WAIT_S)


@pytest.mark.parametrize("coding", list(Coding))
def test_messages_pass_between_planes(sides: tuple[Side, Side], coding: Coding) -> None:
    here, there = sides
    near, far = socket.socketpair()
    links = []
    for side, sock in ((here, near), (there, far)):
        side.plane.adopt(sock, LinkKind.ROUTE, 0)
        links.append(side.take(Opened).link)
        side.plane.send(links[-1], b"INFO {}\r\n")
    for side, link in zip(sides, links, strict=True):
        side.take(Greeting)
        side.code(link, coding)
    publisher, subscriber = here.client(), there.client()
    frames = b"PUB a 130\r\n%b\r\n" % bytes(range(130)) * 20_000
    frames += b"PUB a 1000000\r\n%b\r\n" % (b"0123456789" * 100_000) * 3
    with publisher, subscriber:
        ask(subscriber, b"SUB a 1\r\n")
        ask(publisher, b"SUB r 1\r\n")
        while ask(publisher, b"PUB a r 0\r\n\r\n"):
            # Nobody is there to answer, as long as the interest has not come over.
            pass
        publisher.sendall(b"PUB a 3\r\nnow\r\n" + frames)
        while line(subscriber) != b"now\r\n":
            pass
        got = frames.replace(b"PUB a ", b"MSG a 1 ")

        assert got == exactly(subscriber, len(got))


def test_a_slow_link_gets_more_at_a_time(sides: tuple[Side, Side]) -> None:
    side = sides[0]
    far, _ = side.route(Coding.S2_UNCOMPRESSED)
    publisher = side.client()
    with far, publisher:
        far.sendall(encode(b"RS+ $G a\r\nPING\r\n", 1))
        decoder = Decoder()
        while decoder.feed(far.recv(1)) != b"PONG\r\n":
            pass
        publisher.sendall(b"PUB a 1000\r\n%b\r\n" % (b"x" * 1_000) * 4_000)
        ask(publisher, b"")
        wire, plain = b"", 0
        while plain < 4_000_000:
            part = far.recv(1 << 20)
            wire += part
            plain += len(decoder.feed(part))
        lengths = [len(stream) for stream in wire.split(IDENTIFIER)]

        assert max(lengths) > 2 * READ_BYTES


def test_a_bomb_is_handled_while_others_have_their_turns(sides: tuple[Side, Side]) -> None:
    side = sides[0]
    far, _ = side.route(Coding.S2_FAST)
    client = side.client()
    bomb = encode(b"RMSG $G nobody 0\r\n\r\n" * 180_000, Coding.S2_BETTER)
    assert len(bomb) < 300_000
    with far, client:
        ask(client, b"SUB a 1\r\n")
        far.sendall(bomb * 4 + encode(b"RMSG $G a 1\r\n1\r\n", Coding.S2_FAST))
        while not (got := ask(client, b"").replace(b"PING\r\n", b"")):
            pass

        assert got == b"MSG a 1 1\r\n1\r\n"


def test_a_flipped_bit_ends_the_link_that_sent_it(sides: tuple[Side, Side]) -> None:
    side = sides[0]
    far, link = side.route(Coding.S2_FAST)
    client = side.client()
    stream = bytearray(encode(b"RS+ $G a\r\n" * 100, Coding.S2_FAST))
    stream[15] ^= 4
    with far, client:
        far.sendall(stream)
        event = side.take(Closed)

        assert (link, ClosedState.READ_ERROR) == (event.link, event.reason)
        assert event.detail == "S2: bad checksum"
        assert ask(client, b"SUB a 1\r\nPUB a 0\r\n\r\n") == b"MSG a 1 0\r\n\r\n"


def test_the_last_words_reach_a_coded_peer(sides: tuple[Side, Side]) -> None:
    side = sides[0]
    far, link = side.route(Coding.S2_BEST)
    words = bytes(number * number >> 7 & 0x7F for number in range(60_000))
    side.plane.close(link, ClosedState.SERVER_SHUTDOWN, words)
    wire = b""
    while part := far.recv(1 << 20):
        wire += part
    far.close()

    assert Decoder().feed(wire).endswith(words)
