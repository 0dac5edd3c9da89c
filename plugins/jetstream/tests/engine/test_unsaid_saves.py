"""What is saved for the sake of memory is synced, and said, when the log needs it, or later."""

from __future__ import annotations

import errno
import sys
from pathlib import Path

import pytest
from framework_jetstream.engine.verbs import Verb
from framework_jetstream.log import Effect

sys.path.insert(0, str(Path(__file__).parent))

import test_engine_simulation
from test_engine_simulation import FILE_BYTES, SECOND_NS, UNSAID_MAX_NS, payload_of
from test_reading import Evicted

MESSAGES = 300
LOG_BYTES = 1 << 30
"""So that it gives up no files."""
FILES_MAX = 8
"""Of a log that has six until it gives some up."""
LARGE_FILE_BYTES = 1 << 20
LARGE = 600_000
"""Bytes of a message of which only one is in such a file."""


class Unsaid(Evicted):
    """A stream that remembers what was synced of its segments."""

    def lay_out(self, seed: int, name: str, mistake: str) -> None:
        super().lay_out(seed, name, mistake)
        self.log_bytes = LOG_BYTES
        self.synced: set[str] = set()
        self.errors: dict[Effect, int] = {}

    def perform_segment(self, effect: tuple) -> None:
        if error := self.errors.get(effect[0]):
            raise OSError(error, "what the disk says")
        if effect[0] == Effect.SYNC:
            self.synced.add(effect[1])
        super().perform_segment(effect)

    def store(self, count: int = MESSAGES) -> None:
        for _ in range(count):
            self.published += 1
            message = (b"s.>", b"s.1", b"r.%d" % self.published, b"", payload_of(self.published))
            self.port.tell(1, [message])
            self.go_on(1)
        self.go_on(50)

    def go_on(self, turns: int) -> None:
        for _ in range(turns):
            self.turn()
            self.round()
            self.job()

    def log_files(self) -> list[int]:
        return [int(name[:-4]) for name in self.disk.names() if name.endswith(".log")]

    def retired(self) -> list[int]:
        """Return which files of the log wait to be written anew."""
        return [number for number in self.log_files() if number < self.log.first_file]

    def pass_time(self) -> None:
        self.now += max(UNSAID_MAX_NS)
        self.go_on(50)

    def cut_power(self) -> None:
        """Lose what was not synced, or some of it, and start again."""
        self.disk.crash()
        self.segment_disk.crash()
        self.start()


def made(*, max_msgs: int = -1) -> Unsaid:
    stream = Unsaid(5)
    stream.config.max_msgs = max_msgs
    stream.config.max_bytes = -1
    stream.config.subject_transform = stream.config.republish = stream.config.metadata = None
    stream.update(stream.config)
    return stream


@pytest.fixture
def unsaid() -> Unsaid:
    """Return a stream with segments of which the log knows nothing."""
    stream = made()
    stream.store()
    assert len(stream.segment_disk.names()) > 10
    assert not stream.synced
    return stream


def test_messages_are_read_back_from_what_is_not_synced(unsaid: Unsaid) -> None:
    seq = unsaid.ask(Verb.STREAM_STATE, unsaid.number)[1][2]
    assert unsaid.get_message(seq)[0] == 0


def test_nothing_is_lost_with_what_was_not_synced(unsaid: Unsaid) -> None:
    before = unsaid.held()
    unsaid.cut_power()
    assert not unsaid.segment_disk.names()
    assert unsaid.held() == before
    assert not unsaid.damage


def test_after_some_time_all_is_synced_and_said(unsaid: Unsaid) -> None:
    before = unsaid.held()
    unsaid.pass_time()
    names = unsaid.segment_disk.names()
    assert unsaid.synced == set(names)
    # What the log has of the stream is said to be needed no more.
    unsaid.cut_power()
    assert unsaid.segment_disk.names() == names
    assert unsaid.held() == before
    assert not unsaid.damage


def test_what_was_said_stays_until_something_else_is(unsaid: Unsaid) -> None:
    unsaid.pass_time()
    said = set(unsaid.segment_disk.names())
    unsaid.ask(Verb.PURGE, unsaid.number, numbers=(unsaid.published // 3, 0), first=b"")
    unsaid.store()
    assert said <= set(unsaid.segment_disk.names())
    before = unsaid.held()

    unsaid.cut_power()
    assert unsaid.held() == before
    unsaid.go_on(50)
    unsaid.pass_time()
    assert len(said & set(unsaid.segment_disk.names())) < len(said)
    assert unsaid.held() == before


def test_what_goes_soon_is_never_synced() -> None:
    stream = made(max_msgs=30)
    stream.store()
    most = len(stream.segment_disk.names())
    assert most < 10, "what nobody needs is removed though the log was not told"
    stream.pass_time()
    assert len(stream.synced) < 10


@pytest.mark.parametrize("is_started_again", [False, True])
def test_the_log_gives_up_what_was_said_without_a_save(*, is_started_again: bool) -> None:
    stream = made()
    stream.log_bytes = 6 * FILE_BYTES
    stream.cut_power()
    stream.store()
    stream.pass_time()
    if is_started_again:
        stream.store(1)
        stream.cut_power()
    first, said = stream.log.first_file, stream.log.file
    stream.synced.clear()
    while stream.log.first_file == first:
        stream.store(100)
    assert first < stream.log.first_file <= said
    assert not stream.synced

    before = stream.held()
    stream.cut_power()
    assert stream.held() == before
    assert not stream.damage


def test_what_can_not_be_synced_is_written_again(unsaid: Unsaid) -> None:
    before = unsaid.held()
    names = set(unsaid.segment_disk.names())
    unsaid.errors[Effect.SYNC] = errno.EIO
    unsaid.pass_time()
    assert unsaid.engine.segment_error == errno.EIO
    unsaid.errors.clear()
    unsaid.now += 2 * SECOND_NS
    unsaid.go_on(100)
    assert not unsaid.engine.segment_error
    assert not names & set(unsaid.segment_disk.names())
    unsaid.cut_power()
    assert unsaid.held() == before
    assert not unsaid.damage


def test_a_file_of_the_log_stays_in_memory_until_its_only_entry_is_applied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(test_engine_simulation, "FILE_BYTES", LARGE_FILE_BYTES)
    stream = made()
    for number in range(1, 7):
        stream.port.tell(1, [(b"s.>", b"s.1", b"r.1", b"", payload_of(number).ljust(LARGE))])
        stream.go_on(4)
    assert len(stream.log_files()) >= 6

    stream.cut_power()
    found = [stream.get_message(seq)[2] for seq in range(1, 7)]
    assert [text[-LARGE:].rstrip() for text in found] == [payload_of(it) for it in range(1, 7)]


def test_a_full_disk_is_not_the_logs() -> None:
    stream = made(max_msgs=30)
    stream.log_bytes = 6 * FILE_BYTES
    stream.cut_power()
    stream.store(6 * MESSAGES)
    while stream.log.file - stream.log.first_file > 1:
        stream.store(1)
    assert len(stream.log_files()) == FILES_MAX
    assert len(stream.retired()) == FILES_MAX - 2
    stream.config.max_msgs = -1
    stream.update(stream.config)
    before = stream.held()

    stream.errors[Effect.ALLOCATE] = errno.ENOSPC
    while not stream.engine.segment_error:
        assert stream.retired()
        stream.store(1)
    stream.go_on(20)
    assert not stream.retired()
    stream.errors.clear()
    stream.now += 2 * SECOND_NS
    stream.store(1)
    assert not stream.engine.segment_error
    stream.cut_power()
    assert stream.held().items() > before.items()
