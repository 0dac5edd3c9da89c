"""The codecs of this plugin, as the server uses them."""

from __future__ import annotations

import random

import pytest
from framework_route.modes import CODECS, MODES

from framework.spec.compression import OFFERS


@pytest.fixture(params=CODECS, ids=lambda codec: codec.name)
def codec(request):
    return request.param


def test_nats_servers_modes_offer_themselves_and_ours_something_that_it_knows():
    assert [mode.name for mode in MODES] == [
        "off", "accept", "s2_auto", "s2_fast", "s2_better", "s2_best", "zstd", "lz4", "snappy",
    ]  # fmt: skip
    assert all(mode.offer == (mode.name if mode.name in OFFERS else "s2_fast") for mode in MODES)


@pytest.mark.parametrize("length", [1, 5, 1000, 300_000])
def test_what_was_encoded_is_decoded(codec, length):
    rng = random.Random(length)
    encode, decode = codec.new_encoder(), codec.new_decoder()
    for plain in (bytes(length), rng.randbytes(length)):
        into = memoryview(bytearray(length))

        assert decode(memoryview(encode(memoryview(plain))), into) == length
        assert into == plain


def test_a_bomb_stays_within_its_buffer(codec):
    encoded = memoryview(codec.new_encoder()(memoryview(bytes(10_000_000))))
    room = bytearray(b"x" * 200)

    with pytest.raises(Exception, match=r"buffer|size"):
        codec.new_decoder()(encoded, memoryview(room)[:100])

    assert room[100:] == b"x" * 100


def test_garbage_is_refused_or_gives_something_else_and_never_ends_the_process(codec):
    rng = random.Random(1)
    decode = codec.new_decoder()
    plain = b'{"orderid":7,"price":12.5}' * 9
    encoded = bytes(codec.new_encoder()(memoryview(plain)))
    into = memoryview(bytearray(len(plain)))
    refused = 0
    for _ in range(2000):
        bad = bytearray(encoded)
        bad[rng.randrange(len(bad))] ^= rng.randrange(1, 256)
        try:
            assert decode(memoryview(bad[: rng.randrange(1, len(bad) + 1)]), into) <= len(into)
        except Exception:  # noqa: BLE001 - a codec raises whatever it likes
            refused += 1

    assert refused > 1000
