"""Segments: what is saved comes back, and what is damaged is named and never given."""

from __future__ import annotations

import random
import struct

import pytest
from framework_jetstream.store._segmentface import read_segment
from framework_jetstream.store.offline import SegmentReason
from framework_jetstream.stream._streamhandle import StreamMachine

from framework.testing.simulation import SimulatedDisk
from framework.wire._crc32c import checksum

SALT, GROUP, FILE = 0x1234, 7, 3
VERSION_AT, HEAD_BYTES = 12, 40
SECTOR = 512
codings = pytest.mark.parametrize("coding", [0, 1, 2], ids=["plain", "s2", "either"])


def publish(machine, rng, count, length=40):
    for _ in range(count):
        header = rng.choice((b"", b"NATS/1.0\r\nA: b\r\n\r\n"))
        payload = rng.randbytes(rng.randint(0, length)) + bytes(rng.randint(0, length))
        machine.publish(b"s.%d" % rng.randint(0, 9), header, payload, rng.randint(0, 99))


def written(*, coding=0, seed=1, count=60, group=GROUP, file=FILE, length=40):
    """Return a segment, and the messages in it."""
    machine = StreamMachine(b"S", {})
    publish(machine, random.Random(seed), count, length)
    return machine.save(0, SALT, group, file, coding), machine.records()


def check_damaged(data, rows, *, is_named=True):
    """Check that what is given is what was written, and that what is not is named."""
    found = read_segment(data, SALT, GROUP, FILE)
    assert found.damage
    assert set(found.messages) <= set(rows)
    lost = {row[0] for row in rows} - {row[0] for row in found.messages}
    named = {seq for it in found.damage for seq in range(it.first_seq, it.last_seq + 1)}
    if is_named:
        assert lost <= named
    return found, lost


@codings
@pytest.mark.parametrize("seed", range(8))
def test_messages_come_back(seed, coding):
    rng = random.Random(seed)
    machine = StreamMachine(b"S", {"max_msgs_per_subject": rng.choice((0, 3))})
    segments, after = [], 0
    for number in range(4):
        publish(machine, rng, rng.randint(0, 400), rng.choice((10, 3000)))
        for _ in range(rng.randint(0, 300)):
            machine.delete(rng.randint(1, machine.state()[3] + 1))
        segments.append(machine.save(after, SALT, GROUP, number + 1, coding))
        after = machine.state()[3]

    loaded = StreamMachine(b"S", {})
    assert loaded.load(segments) == []
    assert loaded.records() == machine.records()
    # What a message counts is more in files than in the memory that `machine` is.
    assert loaded.state()[0] == machine.state()[0]
    assert loaded.state()[2:] == machine.state()[2:]


@codings
def test_a_large_message_comes_back(coding):
    machine = StreamMachine(b"S", {})
    machine.publish(b"s", b"", random.Random(1).randbytes(3 << 20) + bytes(1 << 20), 7)
    data = machine.save(0, SALT, GROUP, FILE, coding)

    assert read_segment(data) == (GROUP, FILE, machine.records(), [(1, 1)], [])


def test_a_message_is_written_once_and_not_at_all_when_it_is_gone():
    machine = StreamMachine(b"S", {})
    publish(machine, random.Random(1), 100)
    machine.purge(b"", 51, 0)
    first = machine.save(0, SALT, GROUP, 1)
    publish(machine, random.Random(2), 10)
    machine.delete(60)
    second = machine.save(100, SALT, GROUP, 2)

    assert [row[0] for row in read_segment(first).messages] == list(range(51, 101))
    assert [row[0] for row in read_segment(second).messages] == list(range(101, 111))
    assert read_segment(second).lives == [(51, 9), (61, 50)]


@codings
def test_each_flipped_bit_is_found_and_its_messages_are_named(coding):
    data, rows = written(coding=coding)
    rng = random.Random(2)
    for at in range(len(data)):
        bad = bytearray(data)
        bad[at] ^= 1 << rng.randint(0, 7)
        check_damaged(bytes(bad), rows)
        # Who knows nothing of the file finds the same, but for the head of another version.
        assert read_segment(bytes(bad)).damage
        assert at < HEAD_BYTES or set(read_segment(bytes(bad)).messages) <= set(rows)


def test_a_flipped_bit_in_a_plain_body_names_one_message():
    data, rows = written()
    for seq, subject, header, payload, _ in rows:
        if not payload or data.count(header + payload) > 1:
            continue
        bad = bytearray(data)
        bad[data.index(header + payload) + len(header)] ^= 1
        found, lost = check_damaged(bytes(bad), rows)

        assert subject
        assert lost == {seq}
        assert [it[:3] for it in found.damage] == [(SegmentReason.BODY, seq, seq)]


def test_blocks_are_compressed_where_it_is_worth_it():
    rng = random.Random(1)
    machine = StreamMachine(b"S", {})
    for payload in (
        [bytes(2000)] * 100 + [rng.randbytes(2000) for _ in range(100)] + [bytes(2000)] * 3000
    ):
        machine.publish(b"s", b"", payload, 7)
    data = machine.save(0, SALT, GROUP, FILE, coding=2)
    rows = machine.records()
    bad = bytearray(data)
    bad[data.index(rows[150][3])] ^= 1

    assert read_segment(data, SALT, GROUP, FILE).messages == rows
    # Noise is as long as it was, and so is what comes right behind it; the rest is next to nothing.
    assert 200_000 < len(data) < 200_000 + 33 * 65536 + 300_000
    assert check_damaged(bytes(bad), rows)[1] == {rows[150][0]}


@codings
def test_a_file_that_is_cut_says_so(coding):
    data, rows = written(coding=coding)
    for length in range(0, len(data), 7):
        found, lost = check_damaged(data[:length], rows, is_named=False)

        # What is not named is all that the file had, which whoever knows the file knows.
        assert not lost or SegmentReason.DIRECTORIES in {it.reason for it in found.damage}


@pytest.mark.parametrize("other", [{"file": FILE + 1}, {"group": GROUP + 1}], ids=["file", "group"])
def test_what_belongs_elsewhere_is_not_taken(other):
    data, rows = written(seed=1)
    stale, _ = written(seed=5, **other)

    whole, lost = check_damaged(stale, rows, is_named=False)
    assert not whole.messages
    assert len(lost) == len(rows)
    for at in range(0, len(data), SECTOR):
        end = at + SECTOR
        bad = data[:at] + stale[at:end].ljust(len(data[at:end]), b"\0") + data[end:]
        bad = bad[: len(data)]
        if bad != data:
            check_damaged(bad, rows, is_named=False)


@codings
@pytest.mark.parametrize("seed", range(30))
def test_what_a_disk_does_is_seen(seed, coding):
    """Sectors that were dropped, misdirected or erased, or torn before they were synced."""
    rng = random.Random(seed)
    data, rows = written(coding=coding, seed=seed, count=400, length=200)
    disk = SimulatedDisk(seed)
    disk.allocate("a", len(data))
    disk.sync_directory()
    disk.write("a", 0, data)
    fault = rng.choice(("dropped", "misdirected", "erased", "torn"))
    disk.write_is_dropped = fault == "dropped"
    disk.write_is_misdirected = fault == "misdirected"
    if fault == "torn":
        disk.crash()
    else:
        disk.sync("a")
    if fault == "erased":
        disk.erase("a", rng.randrange(len(data) // SECTOR))
    found = disk.read("a")
    if found == data:
        assert read_segment(found, SALT, GROUP, FILE).messages == rows
    else:
        check_damaged(found, rows, is_named=fault == "erased")


def test_a_newer_version_is_not_read():
    data, _ = written()
    bad = bytearray(data)
    struct.pack_into("<I", bad, VERSION_AT, 2)
    struct.pack_into("<I", bad, VERSION_AT - 4, checksum(bytes(bad[VERSION_AT:HEAD_BYTES])))
    found = read_segment(bytes(bad), SALT, GROUP, FILE)

    assert not found.messages
    assert [it.reason for it in found.damage] == [SegmentReason.NEWER]


def test_a_stream_of_nothing_is_a_segment_of_nothing():
    found = read_segment(StreamMachine(b"S", {}).save(0, SALT, GROUP, 1, coding=1))

    assert found == (GROUP, 1, [], [], [])


def test_what_is_missing_of_earlier_segments_is_named():
    machine = StreamMachine(b"S", {})
    segments = []
    for number in range(3):
        publish(machine, random.Random(number), 20)
        segments.append(machine.save(20 * number, SALT, GROUP, number + 1))
    for seq in (3, 25, 26, 27):
        machine.delete(seq)
    last = machine.save(60, SALT, GROUP, 4)
    bad = bytearray(segments[0])
    row = machine.records()[4]
    bad[bad.index(row[2] + row[3]) + len(row[2])] ^= 1

    loaded = StreamMachine(b"S", {})
    assert loaded.load([bytes(bad), b"", segments[2], last]) == [(row[0], 1), (21, 4), (28, 13)]
    lost = {row[0], *range(21, 41)}
    assert loaded.records() == [it for it in machine.records() if it[0] not in lost]
    assert loaded.state()[3] == 60
