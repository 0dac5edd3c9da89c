"""S2 streams that the library of nats-server wrote, at every level it has."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from framework.tests.wire.s2_model import plain_of
from framework.tests.wire.s2_samples import MIB, SAMPLES
from framework.wire._s2 import Decoder

VECTORS = [
    line.split(" | ")
    for line in (Path(__file__).parent / "s2_vectors.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize(("level", "sample", "text"), VECTORS)
def test_streams_of_the_library_are_read(level: str, sample: str, text: str) -> None:
    del level
    stream, plain = base64.b64decode(text), SAMPLES[sample]

    assert Decoder().feed(stream) == plain


def test_the_vectors_have_all_that_blocks_can_have() -> None:
    """Repeats and far offsets above all: readers of Snappy do not know them."""
    seen: set[str] = set()

    for _, sample, text in VECTORS:
        if (text and len(SAMPLES[sample]) < MIB) or sample == "far away":
            assert plain_of(base64.b64decode(text), seen) == SAMPLES[sample]

    assert seen == {"literal", "copy 1", "copy 2", "copy 4", "repeat"}
