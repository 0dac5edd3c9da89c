"""What is compressed is not written again because its files are short."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from test_reading import Evicted

MESSAGES = 2000
SEGMENT_BYTES = 60_000


class Alike(Evicted):
    """A stream whose messages are much alike."""

    def lay_out(self, seed: int, name: str, mistake: str) -> None:
        super().lay_out(seed, name, mistake)
        self.segment_bytes = SEGMENT_BYTES


@pytest.mark.parametrize("compression", ["none", "s2"])
def test_each_message_is_written_to_one_segment(compression: str) -> None:
    stream = Alike(5)
    stream.config.max_msgs = -1
    stream.config.compression = compression
    stream.config.subject_transform = stream.config.republish = None
    stream.update(stream.config)
    stream.store_until(lambda: stream.published >= MESSAGES)

    names = stream.segment_disk.names()
    written = int(names[-1].split("-")[1].removesuffix(".seg"))
    stored = sum(len(stream.segment_disk.read(it)) for it in names)
    assert len(names) > 8
    # The end of a save may be short, and is written again with the next one.
    assert written <= 2 * len(names)
    assert compression == "none" or stored < 5 * SEGMENT_BYTES
