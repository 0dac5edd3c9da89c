"""Frames, whole and in pieces, honest and not."""

from __future__ import annotations

import random
import socket

import pytest

from framework.server.compression.codec_channel import HEADER, CodecChannel, encoded_bytes_max
from framework.server.pump import ChannelError
from framework.server.pump.limits import BATCH_BYTES
from framework.spec import Codec
from framework.tests.server.compression.codecs import DEFLATE, HISTORY, decoding, frame

PLAIN = b'{"orderid":7,"price":12.5}' * 9


class Panic(BaseException):
    """What compiled codecs raise when they meet a bug of theirs."""


@pytest.fixture
def channel():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield lambda codec=DEFLATE, left=b"": CodecChannel(ours, codec, left)


def read(channel):
    """Return all that a channel has."""
    into, parts = memoryview(bytearray(BATCH_BYTES)), []
    while count := channel.read(into):
        parts.append(bytes(into[:count]))
    return b"".join(parts)


def give(channel, data):
    channel.receive(memoryview(data))
    return read(channel)


@pytest.mark.parametrize("codec", [DEFLATE, HISTORY], ids=lambda it: it.name)
def test_what_one_side_writes_the_other_reads(channel, codec):
    rng = random.Random(1)
    here, there = channel(codec), channel(codec)
    for length in (1, 5, 4096, BATCH_BYTES):
        for plain in (rng.randbytes(length), bytes(length)):
            assert give(there, here.write(memoryview(bytearray(plain)))) == plain


def test_pieces_of_frames_wait_for_the_rest(channel):
    there = channel()
    data = frame(PLAIN) + frame(b"x")

    assert b"".join(give(there, data[at : at + 1]) for at in range(len(data))) == PLAIN + b"x"


def test_what_was_read_already_comes_first(channel):
    data = frame(PLAIN) + frame(b"x")
    there = channel(left=data[:20])

    assert read(there) == b""
    assert give(there, data[20:]) == PLAIN + b"x"


def test_a_batch_holds_whole_frames_only(channel):
    half = bytes(BATCH_BYTES // 2 + 1)
    there = channel(left=frame(half) + frame(b"a") + frame(half))
    into = memoryview(bytearray(BATCH_BYTES))

    assert [there.read(into) for _ in range(3)] == [len(half) + 1, len(half), 0]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (frame(PLAIN, plain=0), "a frame of 0 bytes in "),
        (frame(PLAIN, plain=BATCH_BYTES + 1)[:12], f"a frame of {BATCH_BYTES + 1} bytes in "),
        (frame(PLAIN, encoded=2**32 - 1)[:12], "a frame of 234 bytes in 4294967295"),
        (frame(PLAIN, checksum=1), "bad checksum"),
        (frame(PLAIN, plain=len(PLAIN) + 1), "a frame of 234 bytes that was to have 235"),
        (frame(PLAIN, plain=len(PLAIN) - 1), "can't decode: ValueError: memoryview assignment"),
        (frame(bytes(200_000), plain=100), "can't decode: ValueError: memoryview assignment"),
        (frame(PLAIN, b"garbage"), "can't decode: error: Error -3"),
        (frame(PLAIN, b""), "a frame of 0 bytes that was to have 234"),
    ],
)
def test_what_is_no_frame_is_refused_before_it_costs_anything(channel, data, problem):
    with pytest.raises(ChannelError) as raised:
        give(channel(), data)

    assert str(raised.value).startswith(f"codec deflate: {problem}")


def fail(error):
    def decode(_data, _into):
        raise error

    return decode


@pytest.mark.parametrize(
    ("decode", "problem"),
    [
        (fail(KeyError("x")), "can't decode: KeyError: 'x'"),
        (fail(Panic("index out of range")), "can't decode: Panic: index out of range"),
        (fail(ValueError("x" * 10_000)), f"can't decode: ValueError: {'x' * 188}"),
        (lambda _data, _into: 233, "a frame of 233 bytes that was to have 234"),
        (lambda _data, _into: 10**9, "a frame of 1000000000 bytes that was to have 234"),
        (lambda _data, _into: None, "a frame of None bytes that was to have 234"),
        (lambda _data, into: len(into), "bad checksum"),
    ],
)
def test_a_codec_that_decodes_wrongly_is_named(channel, decode, problem):
    with pytest.raises(ChannelError) as raised:
        give(channel(decoding(decode)), frame(PLAIN))

    assert str(raised.value) == f"codec bad: {problem}"


def test_a_codec_may_keep_what_it_was_given(channel):
    kept = []

    def decode(data, into):
        kept.append(data)
        return DEFLATE.new_decoder()(data, into)

    there = channel(decoding(decode))

    assert give(there, frame(PLAIN) + b"\x01") == PLAIN
    assert give(there, frame(b"a")[1:]) == b"a"


@pytest.mark.parametrize(
    ("encode", "problem"),
    [
        (fail(Panic("no")), "can't encode: TypeError"),
        (lambda plain: bytes(3 * len(plain) + 1024), "makes 1726 bytes of 234"),
        (lambda _plain: "text", "can't encode: TypeError: memoryview: a bytes-like object"),
    ],
)
def test_a_codec_that_encodes_wrongly_is_named(channel, encode, problem):
    bad = Codec("bad", lambda: encode, DEFLATE.new_decoder)
    with pytest.raises(ChannelError) as raised:
        channel(bad).write(memoryview(PLAIN))

    assert str(raised.value).startswith(f"codec bad: {problem}")


def test_bytes_from_anywhere_are_refused_or_read_and_never_held_without_end(channel):
    rng = random.Random(7)
    sound = frame(PLAIN) + frame(b"x") + frame(bytes(70_000))
    refused = 0
    for _ in range(500):
        there, data = channel(), bytearray(sound)
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            while data:
                cut = rng.randrange(1, 100)
                give(there, bytes(data[:cut]))
                del data[:cut]
        except ChannelError:
            refused += 1

        assert len(there._incoming) <= HEADER.size + encoded_bytes_max(BATCH_BYTES)

    assert refused > 250
