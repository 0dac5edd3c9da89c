"""Servers whose file system loses power, is full, or stands still: what they acknowledged stays."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import itertools
import json
import os
import struct
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import nats
import pytest

from framework.testing import RawClient
from plugins.jetstream.tests.interop import shared_clusters as shared

if TYPE_CHECKING:
    from collections.abc import Iterator

SYSTEM_USERS = """
server_name: full
jetstream { store_dir: "%s" }
accounts {
  A { jetstream: enabled, users: [{ user: a, password: a }] }
  $SYS { users: [{ user: s, password: s }] }
}
"""
PLUGIN = ("-plugin", "framework_jetstream.plugin")
CUTS = 5
LOOKS = 1000
LARGE_MESSAGES = 160
"""Of 1 MB, published at once."""
EXT4_IOC_SHUTDOWN = 0x8004587D
FIFREEZE, FITHAW = 0xC0045877, 0xC0045878
NO_LOG_FLUSH = struct.pack("I", 2)

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(300)]


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
        file.truncate(512 << 20)
    try:
        subprocess.run(["mkfs.ext4", "-q", image], check=True, capture_output=True)
        (tmp_path / "disk").mkdir()
        with mounted(image, tmp_path / "disk"):
            (tmp_path / "disk" / "store").mkdir()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no ext4 on a loop device here: {error}")
    return image


def cut(folder: Path) -> None:
    """Let the file system lose all that is not on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.ioctl(descriptor, EXT4_IOC_SHUTDOWN, NO_LOG_FLUSH)
    os.close(descriptor)


@contextlib.contextmanager
def frozen(folder: Path) -> Iterator[None]:
    """Let nothing be written to a file system."""
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.ioctl(descriptor, FIFREEZE, 0)
    try:
        yield
    finally:
        fcntl.ioctl(descriptor, FITHAW, 0)
        os.close(descriptor)


async def publish_until_cut(url, folder, begin, acks, acked):
    """Publish, a hundred at once, until so many are acknowledged; then cut the power.

    What is acknowledged behind the cut does not count: nobody would hear it.
    """
    client = await nats.connect(url, allow_reconnect=False)
    js = client.jetstream()
    heard = {}
    numbers = itertools.count(begin)

    async def publish():
        for number in numbers:
            headers = {"Nats-Msg-Id": str(number)}
            ack = await js.publish("s", b"%d" % number, headers=headers, timeout=2)
            if len(heard) >= acks:
                return
            heard[number] = ack.seq
            if len(heard) == acks:
                cut(folder)

    await asyncio.gather(*(publish() for _ in range(100)), return_exceptions=True)
    acked.update(heard)
    await client.close()
    return next(numbers)


async def contents(url):
    client = await nats.connect(url, allow_reconnect=False)
    js = client.jetstream()
    state = (await js.stream_info("S")).state
    held = {}
    for seq in range(state.first_seq, state.last_seq + 1):
        held[seq] = int((await js.get_msg("S", seq)).data)
    await client.close()
    return held


async def make(url):
    client = await nats.connect(url, allow_reconnect=False)
    await client.jetstream().add_stream(name="S", subjects=["s"])
    await client.close()


def test_what_was_acknowledged_survives_power_cuts(image, tmp_path, fleet):
    folder = tmp_path / "disk"
    acked, begin = {}, 0
    for number in range(CUTS):
        with mounted(image, folder):
            server = fleet.start("-js", "-sd", str(folder / "store"), *PLUGIN)
            try:
                if not number:
                    asyncio.run(make(server.url))
                scenario = publish_until_cut(server.url, folder, begin, 300 + 400 * number, acked)
                begin = asyncio.run(scenario)
            finally:
                server.kill()
        with mounted(image, folder):
            server = fleet.start("-js", "-sd", str(folder / "store"), *PLUGIN)
            held = asyncio.run(contents(server.url))
            server.kill()

        assert [(it, seq) for it, seq in acked.items() if held.get(seq) != it] == []
        assert len(set(held.values())) == len(held)
        assert list(held) == list(range(1, len(held) + 1))


def test_a_disk_that_stands_still_holds_up_who_publishes_and_nobody_else(image, tmp_path, fleet):
    """A server that dropped what it has no room for would drop acknowledgements, too."""
    folder = tmp_path / "disk"
    with mounted(image, folder):
        server = fleet.start("-m", "-1", "-js", "-sd", str(folder / "store"), *PLUGIN)
        try:
            asyncio.run(make(server.url))
            seqs = seqs_of_more_than_waits(server, folder)
        finally:
            server.kill()

    assert seqs == list(range(1, len(seqs) + 1))


def busy_threads(pid):
    """Return the threads of a process that ran whenever they were looked at."""
    tasks = Path("/proc", str(pid), "task")
    busy = {task.name for task in tasks.iterdir()}
    for _ in range(LOOKS):
        state = {it: (tasks / it / "stat").read_text().rpartition(")")[2].split()[0] for it in busy}
        busy = {it for it in busy if state[it] == "R"}
    return busy


def seqs_of_more_than_waits(server, folder):
    """Publish while the file system stands still; return what PubAcks say when it goes on."""
    with RawClient(server.port, timeout_s=60) as publisher, RawClient(server.port) as other:
        publisher.log_in(headers=True, no_responders=True)
        publisher.send(b"SUB inbox 1\r\n")
        said = b"PUB s inbox 1000000\r\n%b\r\n" % bytes(1_000_000) * LARGE_MESSAGES
        sending = threading.Thread(target=publisher.send, args=(said,), daemon=True)
        with frozen(folder):
            sending.start()
            shared.until(lambda: server.document("/varz")["stalled_clients"])
            shared.until(lambda: not busy_threads(server.pid))
            other.log_in()
            other.send(b"SUB core 1\r\nPUB core 2\r\nhi\r\n")
            assert other.read_until(b"MSG ")[-1].body == b"hi"
        answers = [publisher.read_until(b"MSG ")[-1].body for _ in range(LARGE_MESSAGES)]
        sending.join()
    return [json.loads(it).get("seq") for it in answers]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system that is soon full."""
    if os.geteuid():
        pytest.skip("only root can mount a file system")
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=180m", "tmpfs", folder]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("no tmpfs can be mounted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_refuses_and_goes_on_when_there_is_room(small, fleet):
    ballast = small / "ballast"
    ballast.write_bytes(bytes(100 << 20))
    config = SYSTEM_USERS % (small / "store")
    server = fleet.start("-m", "-1", config=config)

    async def fill():
        client = await nats.connect(server.url, user="a", password="a", allow_reconnect=False)
        system = await nats.connect(server.url, user="s", password="s", allow_reconnect=False)
        told = await system.subscribe("$JS.EVENT.ADVISORY.SERVER.OUT_OF_STORAGE")
        await system.flush()
        js = client.jetstream()
        await js.add_stream(name="S", subjects=["s"], max_msgs=10)
        refused = None
        for _ in range(300):
            try:
                await js.publish("s", bytes(500_000))
            except nats.js.errors.APIError as error:
                refused = error
                break
        health = server.document
        with contextlib.suppress(Exception):
            health("/healthz")
        before = (await js.stream_info("S")).state.last_seq
        ballast.unlink()
        again = None
        for _ in range(100):
            with contextlib.suppress(nats.js.errors.APIError):
                again = await js.publish("s", b"again")
                break
        advisory = json.loads((await told.next_msg(10)).data)
        await client.close()
        await system.close()
        return refused, before, again, advisory

    refused, before, again, advisory = asyncio.run(fill())
    server.kill()

    assert advisory["type"] == "io.nats.jetstream.advisory.v1.server_out_of_space"
    assert (advisory["server"], advisory["stream"]) == ("full", "S")

    assert refused is not None
    assert refused.err_code == 10023
    assert again.seq == before + 1
