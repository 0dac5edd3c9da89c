"""Bytes that left memory come back for whoever looks at them: who applies, and who waits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from framework_jetstream.api.saved import SavedStream, text_of
from framework_jetstream.engine.verbs import Verb
from framework_jetstream.stream.rules import limits_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework_jetstream.api.records import StreamConfig

sys.path.insert(0, str(Path(__file__).parent))

from test_engine_simulation import DIRECT, SECOND_NS, UNSAID_MAX_NS, Simulation, payload_of

MESSAGES = 400
EARLY = 100
"""Messages of five subjects; the others have one."""
SUBJECTS = 5
BLOCK_BYTES = 65536
"""The block that is being filled stays."""
MARKER_NS = 100 * SECOND_NS
REMOVED = b"NATS/1.0\r\nKV-Operation: PURGE\r\n\r\n"
"""The header of what a client has put in the place of a message."""


class Evicted(Simulation):
    """A stream of which little is in memory."""

    def lay_out(self, seed: int, name: str, mistake: str) -> None:
        super().lay_out(seed, name, mistake)
        self.segment_bytes, self.small_bytes, self.cache_bytes = 6000, 0, 0
        self.unsaid_max_ns = max(UNSAID_MAX_NS)
        self.said: dict[bytes, list[bytes]] = {}

    def read_for_jobs(self, group: int, file: int) -> bytes:
        return self.read(group, file)

    def update(self, config: StreamConfig) -> None:
        third = text_of(SavedStream("A", 1, config))
        self.ask(
            Verb.UPDATE_STREAM, self.number, limits=limits_of(config), second=b"s.>", third=third
        )

    def get_message(self, seq: int) -> tuple[int, tuple[int, ...], bytes]:
        return self.ask(Verb.GET_MESSAGE, self.number, numbers=(seq, 0))

    def heard(self, target: bytes, reply: bytes, payload: bytes) -> None:
        self.said.setdefault(target, []).append(payload)

    def store(self) -> None:
        end = self.published + MESSAGES
        self.store_until(lambda: self.published >= end)
        for _ in range(50):
            self.turn()
            self.round()
            self.job()

    def store_until(self, is_enough: Callable[[], bool]) -> None:
        while not is_enough():
            number = self.published
            subject = b"s.%d" % (number % SUBJECTS) if number < EARLY else b"s.9"
            header = REMOVED if subject == b"s.0" else b""
            message = (b"s.>", subject, b"r.%d" % number, header, payload_of(number))
            self.published += 1
            self.port.tell(1, [message])
            self.turn()
            self.round()
            self.job()


@pytest.fixture
def evicted() -> Evicted:
    """Return a stream of 400 messages, of which most are on the disk alone."""
    simulation = Evicted(5)
    simulation.config.max_msgs = -1
    simulation.config.subject_transform = simulation.config.republish = None
    simulation.update(simulation.config)
    simulation.store()
    assert simulation.engine.resident_bytes <= BLOCK_BYTES
    return simulation


def test_what_is_applied_looks_at_headers_that_are_on_the_disk(evicted: Evicted) -> None:
    config: StreamConfig = msgspec.structs.replace(
        evicted.config,
        max_age=SECOND_NS,
        allow_msg_ttl=True,
        subject_delete_marker_ttl=MARKER_NS,
        allow_rollup_hdrs=True,
    )
    evicted.now += 10 * SECOND_NS
    evicted.update(config)

    _, state, _ = evicted.ask(Verb.STREAM_STATE, evicted.number)
    found = {
        numbers[0]: data[: numbers[2]]
        for seq in range(state[2], state[4] + 1)
        for status, numbers, data in [evicted.get_message(seq)]
        if status == 0
    }
    # The last message of the first subject was put there by a client: it leaves none.
    assert sorted(found.values()) == [b"s.1", b"s.2", b"s.3", b"s.4", b"s.9"]
    assert min(found) > MESSAGES


def test_a_get_of_many_goes_on_where_it_waited(evicted: Evicted) -> None:
    asked = b'{"seq":1,"batch":%d,"max_bytes":100000000,"next_by_subj":"s.>"}' % MESSAGES
    evicted.port.tell(1, [(DIRECT, DIRECT, b"batch", b"", asked)])
    last = b'{"multi_last":["s.*"],"up_to_seq":60,"max_bytes":100000000}'
    evicted.port.tell(1, [(DIRECT, DIRECT, b"last", b"", last)])
    for _ in range(2 * MESSAGES):
        evicted.turn()
        evicted.jobs.read()

    assert evicted.said[b"batch"] == [*map(payload_of, range(MESSAGES)), b""]
    assert evicted.said[b"last"] == [*map(payload_of, range(55, 60)), b""]


def test_a_get_of_a_message_that_goes_while_it_waits_is_told_so(evicted: Evicted) -> None:
    evicted.port.tell(1, [(DIRECT, DIRECT, b"one", b"", b'{"seq":3}')])
    evicted.turn()
    assert b"one" not in evicted.said
    evicted.ask(Verb.PURGE, evicted.number, numbers=(0, 0), first=b"")
    for _ in range(5):
        evicted.turn()
        evicted.jobs.read()

    assert evicted.said[b"one"] == [b""]


def test_a_stream_that_ends_forgets_who_waits(evicted: Evicted) -> None:
    evicted.port.tell(1, [(DIRECT, DIRECT, b"one", b"", b'{"seq":3}')])
    evicted.turn()
    asked = evicted.engine.command(Verb.GET_MESSAGE, evicted.number, numbers=(4, 0))
    evicted.turn()
    evicted.ask(Verb.CLOSE_STREAM, evicted.number)
    while evicted.jobs.read():
        evicted.turn()

    assert evicted.answers[asked][0] == 1
    assert evicted.engine.resident_bytes == 0
