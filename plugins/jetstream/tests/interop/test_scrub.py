"""Damage of what lies in segments is found by a server that nobody asks for it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from urllib.error import HTTPError

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from shared_clusters import until

PLUGIN = ("-plugin", "framework_jetstream.plugin")
CONFIG = """jetstream {
  store_dir: "%s", block_cache_size: %s, scrub_interval: 300ms, scrub_rate: 256MB
}
http: "127.0.0.1:-1"
"""
LARGE = 1 << 19
COUNT = 80
MESSAGE = re.compile(rb"message [0-9]+ ")
WINDOW = 8
"""Messages that are sent before one is waited for."""

pytestmark = [pytest.mark.interop, pytest.mark.timeout(120)]


def payload_of(number):
    return (b"message %d " % number).ljust(LARGE, b".")


@pytest.fixture
def start(fleet, tmp_path):
    """Return a function that starts a server in the same folder, once more each time."""

    def started(cache):
        return fleet.start(*PLUGIN, config=CONFIG % (tmp_path, cache))

    return started


def segments(folder):
    return sorted((folder / "jetstream" / "log" / "segments").glob("*.seg"))


def fill(ask):
    ask.api("STREAM.CREATE.S", {"name": "S", "subjects": ["s"], "storage": "file"})
    for number in range(1, COUNT + 1):
        if number % WINDOW:
            ask.send("s", payload_of(number))
        else:
            ask.ask("s", payload_of(number))


def flip(file, text):
    """Flip a bit of a text in a file that a server has open."""
    with file.open("r+b") as opened:
        at = opened.read().index(text)
        opened.seek(at)
        opened.write(bytes([text[0] ^ 1]))


def passes(server):
    return server.document("/jsz").get("scrubs") or []


def lost_at(server):
    """Return first and last sequences that a server says to be lost of its stream."""
    faulty = server.document("/jsz").get("faulty") or []
    assert all((it["account"], it["stream"]) == ("$G", "S") for it in faulty)
    return sorted(run for it in faulty for run in it["lost"])


def held(ask):
    """Return the sequences that can be read, with what was published."""
    found = {}
    for seq in range(1, COUNT + 1):
        message = ask.api("STREAM.MSG.GET.S", {"seq": seq}).get("message")
        if message is not None:
            found[seq] = message["data"]
    return found


def test_messages_that_are_damaged_are_named_though_nobody_reads_them(start, log_in, tmp_path):
    server = start("1MB")
    with server.client() as client:
        fill(log_in(client))
    until(lambda: segments(tmp_path))
    server.stop()
    server = start("1MB")  # it has read no message
    until(lambda: any(it.get("ended") and it["files"] for it in passes(server)))
    assert not any(it["damaged"] or it["failed"] for it in passes(server))
    file = segments(tmp_path)[0]
    flip(file, b"message 5 ")
    flip(file, b"message 9 ")

    until(lambda: lost_at(server) == [[5, 5], [9, 9]])
    with pytest.raises(HTTPError) as health:
        server.document("/healthz?details=true")
    told = health.value.read().decode()
    with server.client() as client:
        ask = log_in(client)
        found = held(ask)

    for seq in (5, 9):
        assert f"the message with sequence {seq} is lost" in told
        assert f"the message with sequence {seq} is lost" in server.log()
    assert set(range(1, COUNT + 1)) - set(found) == {5, 9}
    assert list(file.parent.glob("*.damaged"))


def last_of_first(folder):
    """Return the number of the last message of the first segment, which is not written again."""
    texts = [MESSAGE.findall(file.read_bytes()) for file in segments(folder)[:1]]
    return int(texts[0][-1][8:]) if texts and texts[0] else 0


def test_what_is_in_memory_too_is_written_again(start, log_in, tmp_path):
    server = start("24MB")
    with server.client() as client:
        fill(log_in(client))
        # Saved when as much was there as memory keeps: more has come, but not as much again.
        until(lambda: last_of_first(tmp_path) > COUNT // 2)
        file = segments(tmp_path)[0]
        flip(file, b"message %d " % last_of_first(tmp_path))
        server.wait_log("nothing is lost, and it is written again")
        until(lambda: not file.exists())
        server.kill()
    server = start("1MB")
    with server.client() as client:
        found = held(log_in(client))

    assert set(found) == set(range(1, COUNT + 1))
    assert "is lost" not in server.log()
