"""S2 streams beside the library that nats-server uses, in both directions and at every level."""

from __future__ import annotations

import subprocess

import pytest

from framework.testing.peers import bring
from framework.tests.wire.s2_samples import MIB, SAMPLES, noise, traffic
from framework.wire._s2 import Decoder, Encoder

pytestmark = pytest.mark.interop

LEVELS = ("uncompressed", "fast", "better", "best")
LARGE = {"3 MiB": traffic(3 * MIB), "3 MiB of noise": noise(3 * MIB)}


def s2(*words: str, data: bytes) -> bytes:
    """Run the peer; what it says of an error fails the test."""
    done = subprocess.run([bring("s2"), *words], input=data, capture_output=True, check=False)
    assert done.stderr == b""
    return done.stdout


@pytest.mark.parametrize("level", range(4))
def test_the_library_reads_what_we_write(level: int) -> None:
    for name, data in (SAMPLES | LARGE).items():
        assert s2("decode", data=Encoder().encode(data, level)) == data, name


def test_the_library_reads_many_streams_of_one_encoder() -> None:
    encoder, data = Encoder(), traffic(300_000)
    parts = [data[at : at + 997] for at in range(0, len(data), 997)]
    wire = b"".join(encoder.encode(part, at % 4) for at, part in enumerate(parts))

    assert s2("decode", data=wire) == data


@pytest.mark.parametrize("level", LEVELS)
def test_we_read_what_the_library_writes(level: str) -> None:
    for name, data in (SAMPLES | LARGE).items():
        wire = s2("encode", level, data=data)
        decoder = Decoder()
        pieces = [wire[at : at + 65_536] for at in range(0, len(wire), 65_536)]
        assert b"".join(map(decoder.feed, pieces)) == data, name


@pytest.mark.parametrize("level", range(1, 4))
def test_our_streams_are_about_as_short_as_those_of_the_library(level: int) -> None:
    data = traffic(MIB)

    ours, theirs = Encoder().encode(data, level), s2("encode", LEVELS[level], data=data)

    assert len(ours) <= 1.03 * len(theirs)
