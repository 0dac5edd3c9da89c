"""Streams in files may be larger than the memory that there is for them."""

from __future__ import annotations

import re
from urllib.error import HTTPError

import psutil
import pytest

PLUGIN = ("-plugin", "framework_jetstream.plugin")
CONFIG = 'jetstream {store_dir: "%s", block_cache_size: 4MB, log_size: 192MB}'
LARGE = 1 << 20
COUNT = 640
"""A disk that is slow leaves as much as eight segments of 32 MiB in memory, not saved yet."""
SMALL = 400
FEW = 100
WINDOW = 8
"""Messages that are sent before one is waited for."""
TURNS = 50000

pytestmark = [pytest.mark.interop, pytest.mark.timeout(120)]


@pytest.fixture
def start(fleet, tmp_path, monkeypatch):
    """Return a function that starts a server in the same folder, once more each time."""
    monkeypatch.setenv("FRAMEWORK_COLD_STARTS", "1")  # a fork has the memory of who starts it

    def started():
        return fleet.start("-m", "-1", *PLUGIN, config=CONFIG % tmp_path)

    return started


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "jetstream" / "log" / "segments"


def payload_of(number):
    return (b"message %d " % number).ljust(LARGE, b".")


def fill(ask, numbers):
    for number in numbers:
        if number % WINDOW and number != numbers[-1]:
            ask.send(f"s.{number % 7}", payload_of(number))
        else:
            ask.ask(f"s.{number % 7}", payload_of(number))


def rss_mib(server):
    return psutil.Process(server.pid).memory_info().rss / LARGE


def get(ask, **wanted):
    """Return (sequence, payload) of the answers to a direct get."""
    head, body = ask.ask("$JS.API.DIRECT.GET.S", wanted)
    found = re.search(rb"Nats-Sequence: (\d+)", head)
    return (int(found[1]), body) if found else (0, head)


def wait_until(ask, happened):
    """Publish to another stream until something has happened."""
    ask.api("STREAM.CREATE.OTHER", {"name": "OTHER", "subjects": ["other"], "storage": "file"})
    for _ in range(TURNS):
        if happened():
            return
        ask.ask("other", b"more")
    raise AssertionError("it has not happened")


@pytest.fixture
def filled(start, log_in, folder):
    """Return a server with a stream that is in segments but for its end, and a client."""
    server = start()
    with server.client() as client:
        ask = log_in(client)
        wanted = {"name": "S", "subjects": ["s.*"], "storage": "file", "allow_direct": True}
        ask.api("STREAM.CREATE.S", wanted)
        fill(ask, range(1, COUNT + 1))
        wait_until(ask, lambda: len(list(folder.glob("*.seg"))) >= COUNT // 32 - 2)
        yield server, ask


def test_memory_is_bounded_and_each_way_to_a_message_reads_it_back(filled, start, log_in):
    server, ask = filled
    used = rss_mib(server)
    consumer = {"durable_name": "C", "ack_policy": "none"}
    ask.api("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": consumer})
    delivered = [body for _ in range(COUNT // 8) for _, _, body in ask.fetch("S", "C", 8)]

    assert delivered == [payload_of(number) for number in range(1, COUNT + 1)]
    assert ask.fetch("S", "C", 1) == [(b"", b"", b"NATS/1.0 404 ")]
    for seq in (1, 7, 31, 200, COUNT):
        assert get(ask, seq=seq) == (seq, payload_of(seq))
    assert get(ask, seq=2, next_by_subj="s.1") == (8, payload_of(8))
    answers = ask.ask_many(
        "$JS.API.DIRECT.GET.S",
        {"seq": 3, "batch": 5, "next_by_subj": "s.*", "max_bytes": 1 << 25},
        count=6,
    )
    assert [body for _, body in answers[:5]] == [payload_of(number) for number in range(3, 8)]
    assert b"204 EOB" in answers[5][0]
    assert max(used, rss_mib(server)) < COUNT * 3 / 4
    server.kill()
    server = start()
    with server.client() as client:
        ask = log_in(client)
        assert [get(ask, seq=seq) for seq in (9, 77)] == [(9, payload_of(9)), (77, payload_of(77))]
        assert rss_mib(server) < COUNT * 3 / 4


def test_what_is_damaged_under_a_server_that_runs_is_named_and_skipped(filled, folder):
    server, ask = filled
    file = min(folder.glob("*.seg"))
    with file.open("r+b") as opened:
        opened.seek(file.read_bytes().index(b"message 5 "))
        opened.write(b"m-ssage")
    consumer = {"durable_name": "C", "ack_policy": "none"}
    ask.api("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": consumer})
    delivered = [body for _, _, body in ask.fetch("S", "C", 8)]
    with pytest.raises(HTTPError) as health:
        server.document("/healthz")
    state = ask.api("STREAM.INFO.S")["state"]

    assert delivered == [payload_of(number) for number in (1, 2, 3, 4, 6, 7, 8, 9)]
    assert get(ask, seq=5)[0] == 0
    assert "the message with sequence 5 is lost" in health.value.read().decode()
    assert (state["messages"], state["num_deleted"]) == (COUNT - 1, 1)


def test_a_start_after_a_kill_saves_what_it_has_read_though_nothing_comes(start, log_in, folder):
    server = start()
    with server.client() as client:
        ask = log_in(client)
        ask.api("STREAM.CREATE.S", {"name": "S", "subjects": ["s.*"], "storage": "file"})
        fill(ask, range(1, FEW + 1))
    server.kill()
    server = start()
    with server.client() as client:
        ask = log_in(client)
        # The log was told of no segment, so they were removed.
        for _ in range(TURNS):
            if len(list(folder.glob("*.seg"))) > 1:
                break
            assert ask.api("STREAM.INFO.S")["state"]["messages"] == FEW
        else:
            raise AssertionError("nothing was saved")
        assert ask.api("STREAM.MSG.GET.S", {"seq": FEW})["message"]["seq"] == FEW
