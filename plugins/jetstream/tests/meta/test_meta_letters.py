"""Letters between servers: what was said is read, and nothing else is."""

from __future__ import annotations

import random

import msgspec
import pytest
from framework_jetstream.api.errors import ErrCode, api_error
from framework_jetstream.meta.founding import Accept, Ballot, Foundation, Founded, Prepare, Promise
from framework_jetstream.meta.letters import (
    LETTER_BYTES_MAX,
    Hello,
    Leaving,
    NotALetterError,
    NotRestored,
    Restored,
    TakeArchive,
    bytes_from_letter,
    letter_from_bytes,
)
from framework_jetstream.meta.peers import (
    group_number,
    number_of,
    peer_from_number,
    peer_of,
)

PEER = peer_of("n1")
VALUE = Foundation("g", (PEER, peer_of("n2")))
LETTERS = (
    Hello(server_id="N", domain="d", size=3, group="g", record=b"\x80", storage_bytes=2**40),
    Leaving("N"),
    Prepare(3, Ballot(2, PEER)),
    Promise(Ballot(2, PEER), Ballot(1, "x"), VALUE),
    Promise(Ballot(2, PEER), Ballot(), None),
    Accept(3, Ballot(2, PEER), VALUE),
    Founded(VALUE),
    TakeArchive(b"stream"),
    Restored(b"stream", (b"{}", b"[]"), is_late=True),
    NotRestored("S-R3F-1", api_error(ErrCode.STREAM_NAME_EXISTS_RESTORE)),
)


@pytest.mark.parametrize(
    "letter", LETTERS, ids=[f"{at} {type(it).__name__}" for at, it in enumerate(LETTERS)]
)
def test_what_is_said_is_heard(letter):
    assert letter_from_bytes(bytes_from_letter(PEER, letter)) == (PEER, letter)


@pytest.mark.parametrize("seed", range(20))
def test_anything_else_is_refused_by_one_error(seed):
    rng = random.Random(seed)
    for letter in LETTERS:
        data = bytearray(bytes_from_letter(PEER, letter))
        for _ in range(rng.randint(1, 4)):
            match rng.randrange(3):
                case 0:
                    data[rng.randrange(len(data))] = rng.randrange(256)
                case 1:
                    del data[rng.randrange(len(data)) :]
                case _:
                    data += rng.randbytes(5)
            data = data or bytearray(1)
        try:
            sender, _ = letter_from_bytes(bytes(data))
        except NotALetterError:
            continue
        assert len(sender) == len(PEER)


SENSELESS = {
    "nothing": b"",
    "too long": b"x" * (LETTER_BYTES_MAX + 1),
    "newer": msgspec.msgpack.encode((2, PEER, "Leaving", Leaving("N"))),
    "unknown": msgspec.msgpack.encode((1, PEER, "Unheard", {})),
    "of nobody": msgspec.msgpack.encode((1, "short", "Leaving", Leaving("N"))),
    "deep": b"\x91" * 5000,
}


@pytest.mark.parametrize("what", SENSELESS)
def test_what_no_server_says(what):
    with pytest.raises(NotALetterError):
        letter_from_bytes(SENSELESS[what])


def test_numbers_are_of_names():
    assert peer_of("n1") != peer_of("n2")
    assert peer_from_number(number_of(PEER)) == PEER
    assert 0 < number_of(PEER) < 2**63
    assert 0 < group_number("S-R3F-abcdefgh") < 2**64
    with pytest.raises(ValueError, match="is no peer"):
        number_of("n1")
    assert peer_from_number(2**64 - 1) == str(2**64 - 1)
