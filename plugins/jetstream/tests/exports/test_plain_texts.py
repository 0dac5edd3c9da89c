"""Texts behind their lengths, beside a model of three lines; what readers make of whole files is
tested where they are: `spark/pyspark_nats/tests`."""

from __future__ import annotations

import random
import struct

import pytest
from framework_jetstream.exports._plain import plain_texts
from framework_jetstream.exports.thrift import TRUE, i32, i64, items, text, varint
from framework_jetstream.exports.thrift import struct as record


def naive(texts, there):
    return b"".join(
        struct.pack("<I", len(it)) + it
        for it, is_there in zip(texts, there, strict=True)
        if is_there
    )


@pytest.mark.parametrize("seed", range(30))
def test_beside_the_model(seed):
    chance = random.Random(seed)
    texts = [chance.randbytes(chance.choice((0, 1, 5, 300))) for _ in range(chance.randint(0, 40))]
    there = [chance.random() < 0.7 for _ in texts]
    ends = [sum(map(len, texts[:at])) for at in range(len(texts) + 1)]
    offsets = struct.pack(f"<{len(ends)}i", *ends)
    bits = sum(is_there << at for at, is_there in enumerate(there)).to_bytes(8, "little")
    chars = b"".join(texts)

    assert naive(texts, there) == plain_texts(offsets, chars, bits)
    assert naive(texts, [True] * len(texts)) == plain_texts(offsets, chars, b"")
    # As they stand in a frame: anywhere.
    assert naive(texts, there) == plain_texts(memoryview(b"x" + offsets)[1:], chars, bits)


@pytest.mark.parametrize("ends", [(0, 9), (5, 3), (-1, 2), (0, 4, 2)])
def test_offsets_that_lie(ends):
    with pytest.raises(ValueError, match="out of the texts"):
        plain_texts(struct.pack(f"<{len(ends)}i", *ends), b"12345678", b"")


def test_bits_that_are_missing():
    with pytest.raises(ValueError, match="too few bits"):
        plain_texts(struct.pack("<10i", *range(10)), b"123456789", b"\xff")


def test_numbers_as_thrift_has_them():
    assert (b"\0", b"\x7f", b"\x80\x01", b"\xac\x02") == tuple(map(varint, (0, 127, 128, 300)))
    assert (b"\x02", b"\x01", b"\xfe\xff\xff\xff\x0f") == (
        i32(1).data, i32(-1).data, i32(2**31 - 1).data
    )  # fmt: skip
    assert b"\x01" == i64(-1).data


def test_structs_and_lists_as_thrift_has_them():
    assert b"\x15\x02\x38\x01a\x11\0" == record({1: i32(1), 4: text("a"), 5: TRUE}).data
    assert b"\x25\x02\x04" == items([i32(1), i32(2)]).data
    assert b"\xf5\x0f" + b"\x02" * 15 == items([i32(1)] * 15).data
