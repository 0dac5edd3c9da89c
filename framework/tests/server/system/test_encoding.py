from __future__ import annotations

import random

import cramjam
import pytest

from framework.server.system.encoding import encode_answer
from framework.server.system.limits import COMPRESSED_BYTES_MIN

TEXT = b"x" * COMPRESSED_BYTES_MIN
WISH = b"NATS/1.0\r\nAccept-Encoding: snappy\r\n\r\n"


@pytest.mark.parametrize(
    "wish", [WISH, b"NATS/1.0\r\nX: 1\r\naccept-encoding:gzip, S2\r\n\r\n"], ids=["cli", "other"]
)
def test_who_asks_for_snappy_gets_it(wish: bytes) -> None:
    header, payload = encode_answer(wish, TEXT)

    assert header == b"NATS/1.0\r\nContent-Encoding: snappy\r\n\r\n"
    assert len(payload) < len(TEXT)
    assert bytes(cramjam.snappy.decompress(payload)) == TEXT


@pytest.mark.parametrize(
    "wish",
    [b"", b"NATS/1.0\r\n\r\n", b"NATS/1.0\r\nAccept-Encoding: gzip\r\n\r\n", b"NATS/1.0 503\r\n"],
)
def test_others_get_it_plain(wish: bytes) -> None:
    assert encode_answer(wish, TEXT) == (b"", TEXT)


def test_what_is_short_or_does_not_shrink_stays_plain() -> None:
    noise = random.Random(1).randbytes(COMPRESSED_BYTES_MIN)

    assert encode_answer(WISH, TEXT[:-1]) == (b"", TEXT[:-1])
    assert encode_answer(WISH, noise) == (b"", noise)
