"""The log in a folder: its thread, processes that are killed, and file systems that lose power."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from framework_jetstream.log import Kind, Log, LogThread, NewerVersionError

from framework.wire._crc32c import checksum

if TYPE_CHECKING:
    from collections.abc import Iterator

CUTS = 20
EXT4_IOC_SHUTDOWN = 0x8004587D
NO_LOG_FLUSH = struct.pack("I", 2)

WRITER = """
import os, sys
from framework_jetstream.log import Log, LogThread, _load
wake, other = os.pipe()
log = Log(file_bytes=1 << 20, salt=7)
thread = LogThread(log, sys.argv[1], wake_fd=other)
log.committed()  # of earlier lives
[group] = log.groups() or [log.new_group()]
thread.start()
_load.run(thread, group=group, count=1 << 40, payload_bytes=300, window=500, batch_max=50,
          wake_fd=wake, told_fd=1)
"""

READER = """
import sys
import psutil
from framework_jetstream.log import Log, LogThread
before = psutil.Process().memory_info().rss
log = Log(file_bytes=1 << 20, salt=7)
thread = LogThread(log, sys.argv[1])
print(psutil.Process().memory_info().rss - before)
print(*(part.decode() for entry in log.committed() for part in entry.parts))
"""


def opened(folder: Path, **settings: int) -> tuple[Log, LogThread]:
    log = Log(**{"file_bytes": 1 << 20, "salt": 7, **settings})
    return log, LogThread(log, folder)


def written(folder: Path, *parts: bytes) -> None:
    log, thread = opened(folder)
    thread.start()
    group = log.new_group(b"orders")
    for part in parts:
        assert log.append(group, Kind.BATCH, [part])
    thread.stop()


def test_what_was_written_is_read(tmp_path: Path) -> None:
    written(tmp_path, b"one", b"two")

    log, _ = opened(tmp_path)
    assert [entry.parts for entry in log.committed()] == [[b"one"], [b"two"]]
    assert log.group(1).description == b"orders"
    assert (log.damage, log.torn_bytes) == ([], 0)


def test_a_round_of_several_writes_is_read(tmp_path: Path) -> None:
    log, thread = opened(tmp_path, file_bytes=64 << 20)
    group = log.new_group(b"orders")
    lengths = (700_001, 3_000_003, 5, 1_200_000, 400_000, 1 << 20, 99)
    parts = [os.urandom(length) for length in lengths]
    for part in parts:
        assert log.append(group, Kind.BATCH, [part])
    thread.start()
    thread.stop()
    del log, thread

    again, _ = opened(tmp_path)
    assert [entry.parts for entry in again.committed()] == [[part] for part in parts]
    assert (again.damage, again.torn_bytes) == ([], 0)


def test_a_start_takes_no_memory_for_what_is_not_in_a_file(tmp_path: Path) -> None:
    log, thread = opened(tmp_path, file_bytes=64 << 20)
    thread.start()
    assert log.append(log.new_group(), Kind.BATCH, [b"one"])
    thread.stop()
    del log, thread

    # In a process of its own: the heap of this one may have room that went back to the kernel.
    said = subprocess.check_output([sys.executable, "-c", READER, tmp_path], text=True)
    taken, parts = said.split()
    assert int(taken) < 16 << 20
    assert parts == "one"


def test_a_start_reads_no_files_that_are_needed_no_more(tmp_path: Path) -> None:
    log, thread = opened(tmp_path, file_bytes=1 << 20)
    thread.start()
    group = log.new_group(b"orders")
    written_to = log.file
    while log.file < written_to + 3:
        log.append(group, Kind.BATCH, [os.urandom(300_000)])
    index = log.append(group, Kind.BATCH, [b"last"])
    assert log.snapshot(group, index, b"all")
    while not log.trim(log.file):
        log.committed()
    assert log.append(group, Kind.BATCH, [b"behind"])
    thread.stop()
    del log, thread
    assert len(list(tmp_path.iterdir())) > 3
    before = psutil.Process().io_counters().read_chars

    again, _ = opened(tmp_path)
    assert psutil.Process().io_counters().read_chars - before < 2 << 20
    assert [entry.parts for entry in again.committed()][-1] == [b"behind"]


def test_a_file_that_can_not_be_read_is_an_error(tmp_path: Path) -> None:
    written(tmp_path, b"one")
    log = Log()
    for file in sorted(tmp_path.iterdir()):
        data = file.read_bytes()
        log.load(int(file.stem), len(data))[:] = data

    def read(number: int, target: memoryview) -> None:
        raise OSError(errno.EIO, f"{number}, {len(target)} bytes")

    with pytest.raises(OSError, match="bytes"):
        log.recover(read)


def test_each_start_goes_on(tmp_path: Path) -> None:
    written(tmp_path, b"one")
    for number in range(5):
        log, thread = opened(tmp_path)
        thread.start()
        assert log.append(1, Kind.OP, [b"%d" % number]) == number + 2
        thread.stop()
        del log, thread

    log, _ = opened(tmp_path)
    assert [entry.index for entry in log.committed()] == [1, 2, 3, 4, 5, 6]


def test_an_entry_is_committed_when_the_thread_says_so(tmp_path: Path) -> None:
    wake, other = os.pipe()
    log = Log(file_bytes=1 << 20)
    thread = LogThread(log, tmp_path, wake_fd=other)
    os.read(wake, 4096)
    thread.start()
    group = log.new_group()
    log.append(group, Kind.BATCH, [b"x"])
    thread.kick()
    seen = []
    while len(seen) < 2:
        os.read(wake, 8)
        seen += log.committed()

    assert [entry.kind for entry in seen] == [Kind.GROUP, Kind.BATCH]
    thread.stop()
    os.close(wake)
    os.close(other)


def test_who_appends_may_write_what_is_little(tmp_path: Path) -> None:
    written(tmp_path, b"first")
    log, thread = opened(tmp_path)
    log.append(1, Kind.BATCH, [b"x" * 1000])
    is_too_large = not thread.perform_small(999)
    log.append(1, Kind.BATCH, [b"y"])
    performed = thread.perform_small(1 << 14)

    assert (is_too_large, performed, thread.perform_small(1 << 14)) == (True, True, False)
    whole = [[b"first"], [b"x" * 1000], [b"y"]]
    assert [entry.parts for entry in log.committed()] == whole
    assert log.append(1, Kind.BATCH, [b"lost"]) == 4
    del log, thread
    log, _ = opened(tmp_path)
    assert [entry.parts for entry in log.committed()] == whole


def test_small_rounds_of_a_new_file_are_read_again(tmp_path: Path) -> None:
    written(tmp_path, b"first")
    log, thread = opened(tmp_path)
    parts = [b"%d" % number * 200 for number in range(400)]
    for part in parts:
        assert log.append(1, Kind.BATCH, [part])
        assert thread.perform_small(1 << 14)
    del log, thread

    log, _ = opened(tmp_path)
    assert [entry.parts for entry in log.committed()] == [[b"first"], *([it] for it in parts)]
    assert (log.damage, log.torn_bytes) == ([], 0)


def test_with_an_interval_entries_are_committed_before_the_sync(tmp_path: Path) -> None:
    wake, other = os.pipe()
    log = Log(file_bytes=1 << 20, syncs_always=False)
    thread = LogThread(log, tmp_path, interval_s=3600, wake_fd=other)
    thread.start()
    before = thread.syncs
    log.append(log.new_group(), Kind.BATCH, [b"x"])
    thread.kick()
    seen = []
    while len(seen) < 2:
        os.read(wake, 8)
        seen += log.committed()
    unsynced = thread.syncs - before
    thread.stop()
    os.close(wake)
    os.close(other)

    assert unsynced <= 1  # the heads of the first file
    assert thread.syncs - before > unsynced


def test_with_an_interval_files_are_begun_without_a_sync(tmp_path: Path) -> None:
    wake, other = os.pipe()
    folder = tmp_path / "log"
    folder.mkdir()
    log = Log(file_bytes=1 << 20, syncs_always=False)
    thread = LogThread(log, folder, interval_s=3600, wake_fd=other)
    thread.start()
    group, before = log.new_group(), thread.syncs
    parts = [number.to_bytes(8, "little") * 12_500 for number in range(40)]
    for it in parts:
        while not log.append(group, Kind.BATCH, [it]):
            thread.kick()
            os.read(wake, 8)
    seen: list[bytes] = []
    while len(seen) < len(parts):
        thread.kick()
        os.read(wake, 8)
        seen += [it for entry in log.committed() for it in entry.parts if entry.kind == Kind.BATCH]
    unsynced = thread.syncs - before
    killed = shutil.copytree(folder, tmp_path / "killed")
    thread.stop()
    os.close(wake)
    os.close(other)
    del log, thread

    assert unsynced <= 1  # the heads of the first file
    assert len(list(killed.glob("*.log"))) > 3
    for path in (killed, folder):
        log, _ = opened(path)
        held = [entry.parts for entry in log.committed() if entry.kind == Kind.BATCH]
        assert held == [[it] for it in parts]
        assert (log.damage, log.torn_bytes) == ([], 0)


def test_what_its_caller_writes_is_synced_when_the_interval_is_over(tmp_path: Path) -> None:
    wake, other = os.pipe()
    log = Log(file_bytes=1 << 20, syncs_always=False)
    thread = LogThread(log, tmp_path, interval_s=0.001, wake_fd=other)
    thread.start()
    before = thread.syncs
    group = log.new_group()
    thread.kick()
    while not group:
        os.read(wake, 8)
        group = log.new_group()
        thread.kick()
    while thread.syncs < before + 2:  # the heads of the first file, and the group
        os.read(wake, 8)
    log.append(group, Kind.BATCH, [b"x"])
    while not thread.perform_small(1 << 14):  # it may be writing a mark
        pass
    while thread.syncs < before + 3:
        os.read(wake, 8)
    committed = [entry.parts for entry in log.committed()]
    thread.stop()
    os.close(wake)
    os.close(other)

    assert committed[-1] == [b"x"]


@pytest.mark.skipif(sys.platform != "linux", reason="threads are listed in /proc")
def test_the_thread_has_a_name_and_gets_no_signals(tmp_path: Path) -> None:
    _, thread = opened(tmp_path)
    thread.start()
    tasks = {
        task: (task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()
    }
    while "jetstream-log" not in tasks.values():  # it names itself
        tasks = {task: (task / "comm").read_text().strip() for task in tasks}
    [task] = [task for task, name in tasks.items() if name == "jetstream-log"]
    blocked = next(it for it in (task / "status").read_text().splitlines() if "SigBlk" in it)
    thread.stop()

    assert int(blocked.split()[1], 16) & 1 << signal.SIGTERM - 1


def test_a_folder_is_of_one_log(tmp_path: Path) -> None:
    _, thread = opened(tmp_path)
    with pytest.raises(BlockingIOError):
        opened(tmp_path)
    del thread


def test_what_a_newer_version_wrote_is_left_alone(tmp_path: Path) -> None:
    written(tmp_path, b"one")
    [file] = (it for it in sorted(tmp_path.glob("*.log"))[:1])
    data = bytearray(file.read_bytes())
    for at in (0, 4096):
        struct.pack_into("<I", data, at + 12, 3)
        struct.pack_into("<I", data, at + 8, checksum(data[at + 12 : at + 56]))
    file.write_bytes(data)
    before = {it: it.read_bytes() for it in tmp_path.iterdir()}

    with pytest.raises(NewerVersionError):
        opened(tmp_path)
    assert before == {it: it.read_bytes() for it in tmp_path.iterdir()}


class Writer:
    """A process that writes without end and says what is committed."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-c", WRITER, str(folder)]
        self.process = subprocess.Popen(
            command, bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.committed = 0

    def read(self, acks: int) -> None:
        """Read so many acknowledgements."""
        for _ in range(acks):
            data = self.process.stdout.read(8)
            assert len(data) == 8, self.process.stderr.read().decode()
            (self.committed,) = struct.unpack("<Q", data)

    def read_what_is_there(self) -> None:
        """Read the acknowledgements that wait."""
        waiting = fcntl.ioctl(self.process.stdout, termios.FIONREAD, struct.pack("i", 0))
        self.read(struct.unpack("i", waiting)[0] // 8)

    def kill(self) -> None:
        """End it; what it says meanwhile does not count."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        """Let go of it."""
        self.process.stdout.close()
        self.process.stderr.close()


def check(folder: Path, before: int, committed: int) -> int:
    """Return how many messages there are: those of before, and of now the first ones in order."""
    log, thread = opened(folder)
    damage, torn_bytes = log.damage, log.torn_bytes
    parts = [part for entry in log.committed() for part in entry.parts]
    del log, thread  # a folder that is open cannot be unmounted, whatever is found here
    numbers = [int.from_bytes(part[:8], "little") for part in parts[before:]]

    assert damage == []
    assert numbers == list(range(1, len(numbers) + 1)), torn_bytes
    assert len(numbers) >= committed, torn_bytes
    assert all(len(part) == 300 for part in parts)
    return len(parts)


def test_a_process_that_is_killed_has_lost_nothing(tmp_path: Path) -> None:
    count = 0
    for acks in (1, 7, 40, 100):
        writer = Writer(tmp_path)
        writer.read(acks)
        writer.kill()
        writer.read_what_is_there()  # said before it ended, so it counts
        writer.close()
        count = check(tmp_path, count, writer.committed)


@contextlib.contextmanager
def mounted(image: Path, folder: Path) -> Iterator[None]:
    subprocess.run(["mount", "-o", "loop", image, folder], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """An ext4 file system in a file."""
    if os.geteuid():
        pytest.skip("only root can mount a file system and cut its power")
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(256 << 20)
    try:
        subprocess.run(["mkfs.ext4", "-q", image], check=True, capture_output=True)
        (tmp_path / "disk").mkdir()
        with mounted(image, tmp_path / "disk"):
            (tmp_path / "disk" / "log").mkdir()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no ext4 on a loop device here: {error}")
    return image


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_power_cuts_lose_nothing(image: Path, tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    count = 0
    for cut in range(CUTS):
        with mounted(image, folder):
            writer = Writer(folder / "log")
            try:
                writer.read(1 + cut * 3)
                descriptor = os.open(folder, os.O_RDONLY)
                # With the power goes the machine: nobody hears what is said behind this. Here the
                # process goes on, and a sync under way may even succeed on a file system that is
                # shut down already.
                writer.read_what_is_there()
                fcntl.ioctl(descriptor, EXT4_IOC_SHUTDOWN, NO_LOG_FLUSH)
                os.close(descriptor)
            finally:
                writer.kill()
                writer.close()
        with mounted(image, folder):
            count = check(folder / "log", count, writer.committed)
