"""Segments are read though nobody wants them: damage is found, and what memory has is not lost."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from framework_jetstream.engine.verbs import Verb
from framework_jetstream.store._segmentface import read_segment
from framework_jetstream.store.offline import SegmentReason

if TYPE_CHECKING:
    from framework_jetstream.encryption._cipher import Keys

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "log"))

from changing_keys import ChangingKeys
from test_engine_simulation import SECOND_NS, payload_of
from test_reading import MESSAGES, Evicted

RATE = 20_000
INTERVAL_NS = 1000 * SECOND_NS
TURNS_MAX = 20_000
CACHES = [pytest.param(0, id="on the disk alone"), pytest.param(1 << 30, id="in memory too")]


class Scrubbed(Evicted):
    """A stream whose segments are read again and again."""

    cache = 0
    rate = RATE

    def lay_out(self, seed: int, name: str, mistake: str) -> None:
        super().lay_out(seed, name, mistake)
        self.cache_bytes = self.cache
        self.scrubs = self.rate, INTERVAL_NS

    def go_on(self, seconds: float) -> None:
        """Let a time pass in which nobody wants anything."""
        until = self.now + seconds * SECOND_NS
        while self.now < until:
            self.turn()
            self.round()
            self.job()
            while self.jobs.read():
                pass

    def end_pass(self) -> tuple[int, ...]:
        """Let one pass end that has not begun yet; return how it was."""
        began = self.now
        for _ in range(TURNS_MAX):
            if self.engine.scrubs[1][0] > began:
                return self.engine.scrubs[1]
            self.go_on(0.5)
        raise AssertionError("no pass ends")

    def logs(self) -> list[str]:
        """Return the files of the log."""
        return [it for it in self.disk.names() if it.endswith(".log")]

    def needed(self) -> list[str]:
        """Return the files of the log that have what is in no segment."""
        return [it for it in self.logs() if int(it[:-4]) >= self.log.first_file]

    def flip(self, place: int, name: str = "") -> None:
        self.segment_disk.flip(name or self.segment_disk.names()[0], place, 3)

    def state(self) -> tuple[int, ...]:
        return self.ask(Verb.STREAM_STATE, self.number)[1]


class Encrypted(Scrubbed):
    """The same, where all files are encrypted."""

    def keys(self) -> Keys:
        return ChangingKeys(3).next()


def scrubbed(cache: int = 0, rate: int = RATE, kind: type[Scrubbed] = Scrubbed) -> Scrubbed:
    """Return a stream of 400 messages in segments of 6,000 bytes."""
    made = type("Made", (kind,), {"cache": cache, "rate": rate})(5)
    made.config.max_msgs = -1
    made.config.compression = "none"
    made.config.metadata = None
    made.config.subject_transform = made.config.republish = None
    made.update(made.config)
    made.store()
    return made


@pytest.mark.parametrize("cache", CACHES)
def test_what_is_whole_is_read_as_a_whole_at_the_rate(cache: int) -> None:
    stream = scrubbed(cache)
    began, ended, count, files, *bad = stream.end_pass()

    segments, logs = stream.segment_disk.names(), stream.logs()
    stored = sum(len(stream.segment_disk.read(it)) for it in segments)
    most = stored + sum(len(stream.disk.read(it)) for it in logs)
    assert bad == [0, 0]
    # Those of the log that are needed, but for the one that is written.
    assert len(segments) <= files <= len(segments) + len(stream.needed()) - 1
    assert stored - 70_000 < count <= most  # the block that is being filled is not read
    assert count - 70_000 < (ended - began) / SECOND_NS * RATE
    assert stream.engine.scrubs[0][0] == began
    assert not stream.lost
    assert not stream.mended


@pytest.mark.parametrize("cache", CACHES)
def test_what_is_encrypted_is_read_and_damage_costs_a_page(cache: int) -> None:
    stream = scrubbed(cache, kind=Encrypted)
    name = stream.segment_disk.names()[0]
    if cache:
        # Beside what is written, the log has a file.
        stream.store_until(lambda: len(stream.needed()) > 2)
    whole = stream.end_pass()
    assert whole[4:] == (0, 0)
    assert whole[3] >= len(stream.segment_disk.names()) + (cache > 0)

    stream.flip(1024 + 100, name)
    # The page has the head, and messages behind it.
    assert stream.end_pass()[4] >= 1
    assert bool(stream.lost) == (cache == 0)
    assert stream.mended
    stream.go_on(1)
    assert stream.end_pass()[4] == 0


def test_a_pass_begins_an_interval_after_the_one_before() -> None:
    stream = scrubbed()
    first = stream.end_pass()[0]

    assert INTERVAL_NS <= stream.end_pass()[0] - first < INTERVAL_NS + SECOND_NS


def test_nothing_is_read_where_it_is_off() -> None:
    stream = scrubbed(rate=0)
    stream.go_on(3 * INTERVAL_NS / SECOND_NS)

    assert stream.engine.scrubs[1][0] == 0
    assert not stream.jobs.read()


def test_a_message_that_is_damaged_is_lost_before_anybody_reads_it() -> None:
    stream = scrubbed()
    for name in stream.segment_disk.names()[:3]:
        data = stream.segment_disk.read(name)
        stream.flip(data.index(b"xxxx"), name)
    before = stream.state()
    found = stream.end_pass()
    stream.go_on(1)

    assert found[4] == len(stream.lost) == 3
    assert stream.state()[0] == before[0] - 3
    held = [seq for seq in range(1, MESSAGES + 1) if stream.get_message(seq)[0] == 0]
    assert set(range(1, MESSAGES + 1)) - set(held) == stream.lost
    assert stream.end_pass()[4] == 0


def test_what_memory_has_is_written_again() -> None:
    stream = scrubbed(1 << 30)
    name = stream.segment_disk.names()[0]
    before = stream.segment_disk.read(name)
    stream.flip(before.index(b"xxxx"), name)
    found = stream.end_pass()
    stream.go_on(1)

    assert found[4] == 1
    assert {it[2] for it in stream.mended} == {SegmentReason.BODY}
    assert not stream.lost
    assert name not in stream.segment_disk.names()
    assert stream.end_pass()[4] == 0
    assert all(
        stream.get_message(seq)[2].endswith(payload_of(seq - 1)) for seq in range(1, MESSAGES + 1)
    )


@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize(
    ("place", "reason"),
    [(20, SegmentReason.HEAD), (-30, SegmentReason.END), (-80, SegmentReason.DIRECTORY)],
)
def test_what_stands_twice_is_written_again(cache: int, place: int, reason: int) -> None:
    stream = scrubbed(cache)
    name = stream.segment_disk.names()[0]
    stream.flip(place % len(stream.segment_disk.read(name)), name)
    found = stream.end_pass()
    stream.go_on(1)

    assert found[4] == 1
    assert [it[2] for it in stream.mended] == [reason]
    assert not stream.lost
    assert name not in stream.segment_disk.names()
    assert all(
        not read_segment(stream.segment_disk.read(it)).damage for it in stream.segment_disk.names()
    )
    assert stream.end_pass()[4] == 0


@pytest.mark.parametrize(
    ("place", "reason"),
    [(20, SegmentReason.HEAD), (4116, SegmentReason.HEAD), (8300, SegmentReason.BODY)],
)
def test_a_damaged_file_of_the_log_is_given_up(place: int, reason: int) -> None:
    stream = scrubbed(1 << 30)
    needed = [it for it in stream.logs() if int(it[:-4]) >= stream.log.first_file]
    for name in needed[:-2]:  # the last ones may be written still
        stream.disk.flip(name, place, 3)
    found = stream.end_pass()
    stream.go_on(1)

    assert found[4] == len(stream.mended) > 0
    assert {(group, what) for group, _, what in stream.mended} == {(0, reason)}
    assert max(file for _, file, _ in stream.mended) < stream.log.first_file
    assert stream.end_pass()[4] == 0
    stream.start()
    assert not stream.damage
    assert stream.state()[0] == MESSAGES


def test_a_segment_that_is_gone_is_found_missing() -> None:
    stream = scrubbed()
    name = stream.segment_disk.names()[0]
    lost = {it[0] for it in read_segment(stream.segment_disk.read(name)).messages}
    stream.segment_disk.remove(name)
    stream.end_pass()

    assert stream.lost == lost
