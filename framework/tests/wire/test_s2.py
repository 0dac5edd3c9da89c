"""S2 streams, at every level and in any pieces, beside a naive model; and what is refused."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import ProtocolError
from framework.tests.wire.s2_model import (
    IDENTIFIER,
    chunk,
    data_chunk,
    masked_crc,
    plain_of,
    varint,
)
from framework.wire._crc32c import checksum
from framework.wire._s2 import Decoder, Encoder, encode

LEVELS = range(4)
MIB = 1 << 20


@st.composite
def plain_bytes(draw: st.DrawFn) -> bytes:
    """Bytes in which parts come again, near and far, and change a little."""
    parts = [draw(st.binary(max_size=80))]
    for _ in range(draw(st.integers(0, 12))):
        part = draw(st.one_of(st.sampled_from(parts), st.binary(max_size=40)))
        parts.append((part * draw(st.sampled_from((1, 1, 1, 2, 9, 70, 600))))[:9000])
    return b"".join(parts)


@st.composite
def blocks(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A block of elements of every kind, and the plain bytes that it stands for."""
    block, plain, offset = bytearray(), bytearray(), 0
    for _ in range(draw(st.integers(1, 12))):
        data = draw(st.binary(min_size=1, max_size=90))
        size = draw(st.sampled_from(range(len(data) > 60, 5)))
        head = 59 + size if size else len(data) - 1
        number = (len(data) - 1).to_bytes(size, "little") if size else b""
        block += bytes([head << 2]) + number + data
        plain += data
        kind = draw(st.integers(0, 4))
        if kind == 4 and offset:
            high = draw(st.integers(0, 6))
            more, least = max(high - 4, 0), (4 + high, 8, 260)[max(high - 4, 0)]
            number = draw(st.integers(0, 255 if more else 0))
            block += bytes([high << 2 | 1, 0]) + number.to_bytes(more, "little")
            count = least + number
        elif 0 < kind < 4:
            offset = draw(st.integers(1, min(len(plain), (2047, 65535, 1 << 22)[kind - 1])))
            count = draw(st.integers(4, 11) if kind == 1 else st.integers(1, 64))
            high = offset >> 8 << 3 | count - 4 if kind == 1 else count - 1
            low = offset & 255 if kind == 1 else offset
            block += bytes([high << 2 | kind]) + low.to_bytes((1, 2, 4)[kind - 1], "little")
        else:
            count = 0
        for _ in range(count):
            plain.append(plain[-offset])
    return varint(len(plain)) + bytes(block), bytes(plain)


@given(plain_bytes(), st.sampled_from(LEVELS))
def test_the_model_reads_what_is_encoded(data: bytes, level: int) -> None:
    stream = encode(data, level)

    assert plain_of(stream) == data
    assert Decoder().feed(stream) == data
    assert len(stream) <= 10 + 8 + len(data)


@given(blocks())
def test_every_element_of_a_block_is_read(case: tuple[bytes, bytes]) -> None:
    block, plain = case
    stream = IDENTIFIER + data_chunk(0, block, plain)

    assert plain_of(stream) == plain
    assert Decoder().feed(stream) == plain


@given(st.lists(plain_bytes(), min_size=1, max_size=4), st.data())
def test_streams_give_the_same_bytes_in_any_pieces(
    flushes: list[bytes], data: st.DataObject
) -> None:
    encoder = Encoder()
    wire = b"".join(encoder.encode(flush, at % 4) for at, flush in enumerate(flushes))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=8)))
    decoder = Decoder()

    pieces = [wire[one:two] for one, two in zip([0, *cuts], [*cuts, len(wire)], strict=True)]

    assert b"".join(decoder.feed(piece) for piece in pieces) == b"".join(flushes)


def test_streams_are_read_byte_by_byte() -> None:
    data = b"a fox, a fox, a fox and a hound, " * 9
    wire = encode(data) + chunk(0xFE, b"padding") + encode(data, 0)
    decoder = Decoder()

    assert b"".join(decoder.feed(bytes([byte])) for byte in wire) == data + data


@given(plain_bytes(), st.sampled_from(LEVELS), st.randoms(use_true_random=False))
def test_damaged_streams_give_an_error_or_nothing_wrong(
    data: bytes, level: int, rng: random.Random
) -> None:
    wire = bytearray(encode(data, level))
    for _ in range(rng.randrange(1, 4)):
        wire[rng.randrange(len(wire))] = rng.randrange(256)

    try:
        got = Decoder().feed(bytes(wire))
    except ProtocolError:
        return

    assert got in {data, b""}


@given(st.binary(max_size=200))
def test_any_bytes_are_read_as_the_model_does_or_refused(data: bytes) -> None:
    stream = IDENTIFIER + chunk(0, data)
    try:
        expected = plain_of(stream)
    except (AssertionError, IndexError):
        with pytest.raises(ProtocolError, match=r"^S2: "):
            Decoder().feed(stream)
    else:
        assert Decoder().feed(stream) == expected


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 65535, 65536, MIB - 1, MIB, MIB + 1, 3 * MIB])
def test_lengths_around_the_limits_come_back(level: int, length: int) -> None:
    rng = random.Random(length)
    words = [rng.randbytes(rng.randrange(3, 60)) for _ in range(999)]
    repeats = b"".join(rng.choices(words, k=length // 20 + 1))[:length]
    for data in (bytes(length), rng.randbytes(length), repeats):
        assert Decoder().feed(encode(data, level)) == data


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_of_one_stream_is_left_in_the_next(level: int) -> None:
    """An encoder keeps its tables: what they say of earlier bytes must count as nothing."""
    rng, encoder = random.Random(5), Encoder()
    for _ in range(300):
        data = bytes(rng.choices(b"abcd", k=rng.randrange(3000)))
        assert Decoder().feed(encoder.encode(data, level)) == data


def test_random_bytes_are_stored_as_they_are() -> None:
    data = random.Random(1).randbytes(5000)
    for level in LEVELS:
        assert encode(data, level) == IDENTIFIER + data_chunk(1, data, data)


def test_a_second_identifier_begins_another_stream() -> None:
    snappy = b"\xff\x06\x00\x00sNaPpY" + data_chunk(1, b"two", b"two")

    assert Decoder().feed(encode(b"one") + snappy + IDENTIFIER) == b"onetwo"


def test_padding_and_skippable_chunks_are_passed_over() -> None:
    skipped = b"".join(chunk(kind, b"\x01" * 9) for kind in (0x80, 0x99, 0xFD, 0xFE))

    assert Decoder().feed(IDENTIFIER + skipped + data_chunk(1, b"x", b"x")) == b"x"


WRONG_CRC = (masked_crc(b"abc") ^ 1).to_bytes(4, "little")
REFUSED = [
    (data_chunk(1, b"abc", b"abc"), "no stream identifier"),
    (chunk(0xFE, b"abc") + IDENTIFIER, "no stream identifier"),
    (b"\xff\x06\x00\x00S2sTwo", "bad stream identifier"),
    (b"\xff\x07\x00\x00", "bad stream identifier"),
    (IDENTIFIER + chunk(0x02, b"abcd"), "unknown kind of chunk"),
    (IDENTIFIER + b"\x7f", "unknown kind of chunk"),
    (IDENTIFIER + chunk(1, WRONG_CRC + b"abc"), "bad checksum"),
    (IDENTIFIER + chunk(0, WRONG_CRC + b"\x03\x08abc"), "bad checksum"),
    (IDENTIFIER + chunk(1, b"abc"), "chunk too short"),
    (IDENTIFIER + chunk(0, b"abc"), "chunk too short"),
    (IDENTIFIER + chunk(0, b"abcd"), "bad block length"),
    (IDENTIFIER + chunk(0, b"abcd" + b"\x80" * 9), "bad block length"),
    (IDENTIFIER + chunk(0, b"abcd\xff\xff\xff\xff\x1f"), "bad block length"),
    (IDENTIFIER + chunk(0, b"abcd\xff\xff\xff\xff\x0f"), "block too long"),
    (IDENTIFIER + chunk(0, b"abcd" + varint((4 << 20) + 1)), "block too long"),
    (IDENTIFIER + b"\x01\x05\x00\x40", "chunk too long"),
    (IDENTIFIER + b"\x00\xff\xff\xff", "chunk too long"),
    (IDENTIFIER + b"\xfe\xff\xff\xff", "chunk too long"),
    (IDENTIFIER + chunk(0, b"abcd\x05"), "a block is too short"),
    (IDENTIFIER + chunk(0, b"abcd\x05\x04ab"), "a block is too short"),
    (IDENTIFIER + chunk(0, b"abcd\x05\x08ab"), "a literal is too long"),
    (IDENTIFIER + chunk(0, b"abcd\x01\x08abc"), "a literal is too long"),
    (IDENTIFIER + chunk(0, b"abcd\x05\xfc\xff\xff\xff\xff"), "a literal is too long"),
    (IDENTIFIER + chunk(0, b"abcd\x05\xf0"), "a tag is cut off"),
    (IDENTIFIER + chunk(0, b"abcd\x09\x00a\x01"), "a tag is cut off"),
    (IDENTIFIER + chunk(0, b"abcd\x0b\x00a\x15\x01\x15\x00"), "a tag is cut off"),
    (IDENTIFIER + chunk(0, b"abcd\x09\x00a\x1e\x01"), "a tag is cut off"),
    (IDENTIFIER + chunk(0, b"abcd\x09\x00a\x1f\x01\x00\x00"), "a tag is cut off"),
    (IDENTIFIER + chunk(0, b"abcd\x05\x01\x00"), "an offset is out of range"),
    (IDENTIFIER + chunk(0, b"abcd\x05\x00a\x01\x00"), "an offset is out of range"),
    (IDENTIFIER + chunk(0, b"abcd\x05\x00a\x01\x02"), "an offset is out of range"),
    (IDENTIFIER + chunk(0, b"abcd\x05\x00a\x0e\x00\x00"), "an offset is out of range"),
    (IDENTIFIER + chunk(0, b"abcd\x05\x00a\x0f\xff\xff\xff\xff"), "an offset is out of range"),
    (IDENTIFIER + chunk(0, b"abcd\x04\x00a\x01\x01"), "a copy is too long"),
    (IDENTIFIER + chunk(0, b"abcd\x09\x00a\x01\x01\x1d\x00\xff\xff\xff"), "a copy is too long"),
]


@pytest.mark.parametrize(("wire", "problem"), REFUSED)
def test_what_is_wrong_with_a_stream_is_said(wire: bytes, problem: str) -> None:
    with pytest.raises(ProtocolError, match=f"^S2: {problem}$"):
        Decoder().feed(wire)


def test_a_chunk_of_four_mebibytes_is_read_and_none_that_is_longer() -> None:
    data = bytes(4 * MIB)
    crc_bytes = _masked(data)
    repeat = (4 * MIB - 1 - 4 - 65540).to_bytes(3, "little")
    block = varint(4 * MIB) + b"\x00\x00" + b"\x01\x01" + b"\x1d\x00" + repeat

    assert Decoder().feed(IDENTIFIER + chunk(0, crc_bytes + block)) == data
    assert Decoder().feed(IDENTIFIER + chunk(1, crc_bytes + data)) == data


def _masked(data: bytes) -> bytes:
    value = checksum(data)
    return ((value >> 15 | value << 17) + 0xA282EAD8 & 0xFFFFFFFF).to_bytes(4, "little")


def test_levels_that_do_not_exist_are_refused() -> None:
    for level in (-1, 4):
        with pytest.raises(ValueError, match="no level"):
            encode(b"", level)
