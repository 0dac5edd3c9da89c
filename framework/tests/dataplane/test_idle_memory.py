"""What a connection holds that says nothing: less than 4 KiB beside its socket."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from framework.dataplane import Coding, LinkKind, PlaneLimits, WebSocketFrames
from framework.testing.websocket import deflated, frame_bytes
from framework.tests.dataplane.conftest import Peer, Talk
from framework.tests.dataplane.memory import allocated
from framework.wire.s2 import encode

if TYPE_CHECKING:
    from collections.abc import Callable

PEERS = 100
KIB = 1_024
CONNECT = b'CONNECT {"verbose":false}\r\n'
NOISE = os.urandom(60_000)
PUBLISHED = b"PUB a %d\r\n%b\r\n" % (len(NOISE), NOISE)


def held_by_each(begin: Callable[[Talk], Peer], *said: bytes) -> int:
    """Return what a connection holds that has said something, in bytes."""
    talk = Talk(PlaneLimits())
    assert talk.core.load_deflate()
    peers: list[Peer] = []
    before = 0
    for at in range(PEERS + 10):
        if at == 10:  # some are there already: tables and spare memory have grown
            before = allocated()
        peers.append(begin(talk))
        for data in said:
            peers[-1].say(data)
        peers[-1].heard()
        talk.events.clear()
    for _ in range(2):
        talk.turn(1)
    return (allocated() - before) // PEERS


def websocket(talk: Talk, *, is_compressed: bool = False) -> Peer:
    stages = (WebSocketFrames(is_compressed=is_compressed),)
    return Peer(talk, talk.core.open(LinkKind.CLIENT, "::1", 9, accepted=True, stages=stages))


def compressed(talk: Talk) -> Peer:
    return websocket(talk, is_compressed=True)


LOGIN = frame_bytes(CONNECT)
LARGE = frame_bytes(PUBLISHED)
DEFLATED = frame_bytes(deflated(PUBLISHED), reserved=4)
EARLY = frame_bytes(deflated(NOISE[:3_000]), reserved=4)[:3_000]


@pytest.mark.parametrize(
    ("begin", "said"),
    [
        (websocket, ()),
        (websocket, (LOGIN,)),
        (websocket, (LOGIN, LARGE)),
        (websocket, (LOGIN, LARGE[: len(LARGE) // 2], LARGE[len(LARGE) // 2 :])),
        (websocket, (LOGIN, LARGE[:3])),
        (websocket, (LOGIN, frame_bytes(b"PUB a 5\r\nhe"))),
        (websocket, (frame_bytes(CONNECT, length=(1 << 63) - 1),)),
        (compressed, (LOGIN, DEFLATED)),
        (compressed, (LOGIN, DEFLATED[:8])),
        (compressed, (EARLY,)),
    ],
)
def test_a_silent_connection_holds_little(
    begin: Callable[[Talk], Peer], said: tuple[bytes, ...]
) -> None:
    assert held_by_each(begin, *said) <= 4 * KIB + len(EARLY) * (said == (EARLY,))


def test_the_rest_of_a_chunk_holds_no_window() -> None:
    def route(talk: Talk) -> Peer:
        peer = talk.route(registered=False)
        peer.say(b'CONNECT {"cluster":"c"}\r\n')
        talk.core.set_coding(peer.link, Coding.S2_FAST)
        talk.core.register_peer(peer.link)
        return peer

    part = encode(NOISE, Coding.S2_FAST)[:50_000]
    assert held_by_each(route, part) - held_by_each(route) <= len(part) + 4 * KIB
