"""What nobody is about to read goes to segments past the page cache."""

from __future__ import annotations

import os
import subprocess
import tempfile

import pytest

PLUGIN = ("-plugin", "framework_jetstream.plugin")
CONFIG = 'jetstream {store_dir: "%s", block_cache_size: 4MB, max_file_store: 1GB}'
LARGE = 1 << 20
COUNT = 160
WINDOW = 8
"""Messages that are sent before one is waited for."""
SECTOR_BYTES = 4096
LOOK_BYTES = 1 << 18
"""A page is looked at for so many bytes."""
CONSUMER = {"durable_name": "C", "ack_policy": "none"}
READERS = {
    "nobody": ({}, None),
    "a late consumer": ({}, CONSUMER),
    "who asks a bucket": ({"max_msgs_per_subject": 2}, None),
}
"""Who will read a stream: what more it has, and its consumer."""

pytestmark = [pytest.mark.interop, pytest.mark.timeout(120)]


def payload_of(number):
    return (b"message %d " % number).ljust(LARGE, b".")


def cached_share(files):
    """Return which share of the bytes of files is in the page cache."""
    found = []
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        for at in range(0, file.stat().st_size - SECTOR_BYTES, LOOK_BYTES):
            try:
                os.preadv(descriptor, [bytearray(SECTOR_BYTES)], at, os.RWF_NOWAIT)
            except BlockingIOError:
                found.append(False)
            else:
                found.append(True)
        os.close(descriptor)
    return sum(found) / len(found)


def can_be_direct(folder):
    """Whether files of a folder can be written past the page cache."""
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(bytes(LARGE))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        try:
            os.close(os.open(file.name, os.O_WRONLY | os.O_DIRECT))
            os.preadv(file.fileno(), [bytearray(SECTOR_BYTES)], 0, os.RWF_NOWAIT)
        except BlockingIOError:
            return True
        except OSError:
            return False
    return False


def created(ask, more=None, consumer=None):
    wanted = {"name": "S", "subjects": ["s.*"], "storage": "file", "allow_direct": True}
    ask.api("STREAM.CREATE.S", wanted | (more or {}))
    if consumer:
        ask.api("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": consumer})


def fill(ask):
    """Publish more than memory keeps."""
    for number in range(1, COUNT + 1):
        if number % WINDOW and number != COUNT:
            ask.send(f"s.{number}", payload_of(number))
        else:
            ask.ask(f"s.{number}", payload_of(number))


def saved(ask, folder):
    """Wait until most is in segments; return them."""
    ask.api("STREAM.CREATE.OTHER", {"name": "OTHER", "subjects": ["other"], "storage": "file"})
    for _ in range(50000):
        files = list((folder / "jetstream" / "log" / "segments").glob("*.seg"))
        if sum(file.stat().st_size for file in files) > COUNT * LARGE // 3:
            return files
        ask.ask("other", b"more")
    raise AssertionError("nothing was saved")


def read_back(ask):
    """Return the messages of the stream, by their sequences."""
    seqs = range(1, COUNT + 1)
    return {seq: ask.ask("$JS.API.DIRECT.GET.S", {"seq": seq})[1] for seq in seqs}


@pytest.mark.parametrize("readers", READERS)
def test_what_nobody_reads_soon_is_not_in_the_page_cache(readers, fleet, tmp_path, log_in):
    if not can_be_direct(tmp_path):
        pytest.skip("the file system of temporary folders has all in the page cache")
    server = fleet.start("-m", "-1", *PLUGIN, config=CONFIG % tmp_path)
    with server.client() as client:
        ask = log_in(client)
        created(ask, *READERS[readers])
        fill(ask)
        share = cached_share(saved(ask, tmp_path))
        assert share < 0.1 if readers == "nobody" else share > 0.9
        assert read_back(ask) == {each: payload_of(each) for each in range(1, COUNT + 1)}


@pytest.fixture
def cache_only(tmp_path):
    """A folder of a file system that has all in the page cache, and refuses to go past it."""
    if os.geteuid():
        pytest.skip("only root can mount a file system")
    folder = tmp_path / "ramfs"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "ramfs", "ramfs", folder], check=False).returncode:
        pytest.skip("no ramfs can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)  # a server may be there still


def test_a_file_system_that_has_all_in_the_page_cache_serves(cache_only, fleet, log_in):
    with pytest.raises(OSError, match="Invalid argument"):
        os.open(cache_only / "direct", os.O_CREAT | os.O_WRONLY | os.O_DIRECT)
    server = fleet.start("-m", "-1", *PLUGIN, config=CONFIG % cache_only)
    with server.client() as client:
        ask = log_in(client)
        created(ask)
        fill(ask)
        saved(ask, cache_only)
        assert read_back(ask) == {each: payload_of(each) for each in range(1, COUNT + 1)}
