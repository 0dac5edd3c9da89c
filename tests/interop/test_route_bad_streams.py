"""Streams of S2 from a bad peer: bombs, lies and broken bits end its route, and nobody else's."""

from __future__ import annotations

import pytest

from framework.testing import OURS, RawClient, RoutePeer, check_exchange
from framework.wire.s2 import encode

pytestmark = pytest.mark.parametrize("victims", [OURS], indirect=True)

IDENTIFIER = b"\xff\x06\x00\x00S2sTwO"
PAYLOAD_BYTES = 1 << 20


def chunk(kind, data, *, length=None):
    """Return a chunk whose checksum is as wrong as can be."""
    data = b"\0\0\0\0" + data
    return bytes([kind]) + (length or len(data)).to_bytes(3, "little") + data


def become_coded(peer):
    """Agree on S2, as who dials does: an INFO that says so is the last plain thing."""
    peer.expect(b"INFO")
    wants = {"proto": 3, "compression": "s2_fast", "route_pool_size": 3}
    peer.send(peer.connect_line() + peer.info_line(**wants))
    peer.send(encode(peer.info_line(**wants)))


BROKEN = {
    "a claim of more than 4 MiB": IDENTIFIER + chunk(0, b"\x81\x80\x80\x02" + b"x" * 20),
    "a claim of terabytes": IDENTIFIER + chunk(0, b"\xff\xff\xff\xff\xff\x7f" + b"x" * 20),
    "a claim that does not hold": IDENTIFIER + chunk(0, b"\x80\x80\x80\x02\x00a"),
    "a copy from nowhere": IDENTIFIER + chunk(0, b"\x10\x00a\x09\xff"),
    "a length of 16 MiB": IDENTIFIER + chunk(0, b"x" * 100, length=0xFFFFFF),
    "a kind that nobody knows": IDENTIFIER + chunk(2, b"x" * 20),
    "a wrong identifier": b"\xff\x06\x00\x00S2sTw!",
    "a chunk too short for a checksum": IDENTIFIER + b"\x00\x02\x00\x00ab",
    "plain bytes": b"PING\r\n" * 10,
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_stream_that_lies_ends_the_route(victim, name):
    with RoutePeer(victim) as peer:
        become_coded(peer)
        peer.send(BROKEN[name])
        peer.read_to_end()


@pytest.mark.parametrize("bit", [0, 31, 100])
def test_one_wrong_bit_ends_the_route_and_is_logged_once(victim, bit):
    lines = b"RS+ $G some.subject.that.is.long.enough.%d\r\n"
    stream = bytearray(encode(b"".join(lines % number for number in range(50))))
    stream[len(IDENTIFIER) + 4 + bit // 8] ^= 1 << bit % 8
    before = victim.log().count("S2: ")
    with RoutePeer(victim) as peer:
        become_coded(peer)
        peer.send(bytes(stream))
        peer.read_to_end()
    victim.wait_log("S2: ", count=before + 1)
    check_exchange([victim])

    assert before + 1 == victim.log().count("S2: ")


def test_a_bomb_of_messages_is_taken_a_piece_at_a_time(victim):
    """A gigabyte in 60 kB: others go on being served, and no more memory is held than before."""
    message = b"RMSG $G nobody.there %d\r\n%b\r\n" % (PAYLOAD_BYTES, bytes(PAYLOAD_BYTES))
    bomb = encode(message)

    assert len(bomb) * 5_000 < len(message)
    with RoutePeer(victim) as peer, RawClient(victim.port) as client:
        become_coded(peer)
        client.log_in()
        for _ in range(20):
            peer.send(bomb * 50)
            client.flush()


def test_a_bomb_of_a_line_ends_the_route(victim):
    with RoutePeer(victim) as peer:
        become_coded(peer)
        peer.send(encode(b"RS+ $G " + b"a" * (64 << 20)))
        peer.read_to_end()
