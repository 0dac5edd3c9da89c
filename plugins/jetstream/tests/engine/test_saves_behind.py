"""Publishers that are faster than segments are written wait for them, and nothing is lost."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from framework_jetstream.engine.verbs import Verb

sys.path.insert(0, str(Path(__file__).parent))

from test_reading import Evicted

MESSAGES = 3000
PAYLOAD = b"0 " + b"x" * 8000
SEGMENT_BYTES = 1 << 18
RESIDENT_BYTES_MAX = 11 * SEGMENT_BYTES
"""Eight segments that are not written, one that is being filled, and what a turn took."""


class Behind(Evicted):
    """A stream whose segments are written when a test says so."""

    def lay_out(self, seed: int, name: str, mistake: str) -> None:
        super().lay_out(seed, name, mistake)
        self.segment_bytes = SEGMENT_BYTES

    def heard(self, target: bytes, reply: bytes, payload: bytes) -> None:
        self.acked[json.loads(payload)["seq"]] = 1

    def go_on(self, turns: int) -> int:
        """Let all but segments go on; return the most bytes that were in memory."""
        most = 0
        for _ in range(turns):
            self.turn()
            self.round()
            most = max(most, self.engine.resident_bytes)
        return most


def test_memory_is_bounded_while_segments_are_written_slowly() -> None:
    stream = Behind(3)
    stream.config.max_msgs = -1
    stream.config.subject_transform = stream.config.republish = None
    stream.update(stream.config)
    for number in range(MESSAGES):
        stream.port.tell(1, [(b"s.>", b"s.1", b"r.%d" % number, b"", PAYLOAD)])

    most = stream.go_on(MESSAGES)
    held = len(stream.acked)
    assert 0 < held < MESSAGES // 4
    assert most <= RESIDENT_BYTES_MAX

    # What is asked of the stream meanwhile is answered.
    assert stream.ask(Verb.STREAM_STATE, stream.number)[0] == 0
    assert stream.ask(Verb.DELETE_MESSAGE, stream.number, numbers=(1, 0))[0] == 0

    while stream.job() or len(stream.acked) < MESSAGES:
        most = max(most, stream.go_on(20))
    assert most <= RESIDENT_BYTES_MAX
    assert stream.ask(Verb.STREAM_STATE, stream.number)[1][4] == MESSAGES
