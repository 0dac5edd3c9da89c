"""Streams that are too large for the log go to segments: it gets shorter, and they come back."""

from __future__ import annotations

import argparse
import base64
from urllib.error import HTTPError

import pytest
from framework_jetstream.plugin import framework_add_commands

from framework.spec import CommandGroup

PLUGIN = ("-plugin", "framework_jetstream.plugin")
CONFIG = 'jetstream {store_dir: "%s", log_size: 192MB}'
LARGE = 1 << 20
COUNT = 340
"""More than five files of the log have."""
FIRST_FILES = (1, 2, 3)
"""Two of them may wait to be written again."""
TURNS = 50000
WINDOW = 8
"""Messages that are sent before one is waited for."""

pytestmark = [pytest.mark.interop, pytest.mark.timeout(120)]


@pytest.fixture
def start(fleet, tmp_path):
    """Return a function that starts a server in the same folder, once more each time."""

    def started():
        return fleet.start("-m", "-1", *PLUGIN, config=CONFIG % tmp_path)

    return started


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "jetstream" / "log"


def payload_of(number):
    return (b"message %d " % number).ljust(LARGE, b".")


def fill(ask, subject, numbers):
    """Publish large messages, and wait until all are stored."""
    for number in numbers:
        if number % WINDOW and number != numbers[-1]:
            ask.send(subject, payload_of(number))
        else:
            ask.ask(subject, payload_of(number))


def wait_for(ask, happened):
    """Publish to another stream until something has happened.

    The log gives up files when it is written.
    """
    ask.api("STREAM.CREATE.OTHER", {"name": "OTHER", "subjects": ["other"], "storage": "file"})
    for _ in range(TURNS):
        if happened():
            return
        ask.ask("other", b"more")
    raise AssertionError("it has not happened")


def segments_of(folder):
    return sorted((folder / "segments").glob("*.seg"))


def is_short(folder):
    """Whether the log has given up its first files, which have other numbers or are gone then."""
    return not all((folder / f"{number:010}.log").exists() for number in FIRST_FILES)


def data_of(ask, seq):
    found = ask.api("STREAM.MSG.GET.S", {"seq": seq}).get("message")
    return base64.b64decode(found["data"]) if found else None


def verify(folder):
    """Return what `framework jetstream verify` returns."""
    parser = argparse.ArgumentParser()
    framework_add_commands(CommandGroup(parser))
    arguments = parser.parse_args(["verify", str(folder)])
    return arguments.run(arguments)


@pytest.fixture
def filled(start, log_in, folder):
    """Return a server with a stream in segments, and what has a client of it."""
    server = start()
    with server.client() as client:
        ask = log_in(client)
        ask.api("STREAM.CREATE.S", {"name": "S", "subjects": ["s"], "storage": "file"})
        fill(ask, "s", range(1, COUNT + 1))
        wait_for(ask, lambda: segments_of(folder) and is_short(folder))
        yield server, ask


def test_the_log_gets_shorter_and_all_comes_back(filled, start, log_in, folder):
    server, ask = filled
    for seq in (1, 50, COUNT):
        ask.api("STREAM.MSG.DELETE.S", {"seq": seq})
    fill(ask, "s", range(COUNT + 1, COUNT + 4))
    before = ask.api("STREAM.INFO.S")["state"]
    server.kill()
    checked = verify(folder)
    server = start()
    with server.client() as client:
        ask = log_in(client)
        after = ask.api("STREAM.INFO.S")["state"]
        held = {seq: data_of(ask, seq) for seq in range(1, COUNT + 4, 7)}

    assert after == before
    assert (after["messages"], after["first_seq"], after["last_seq"]) == (COUNT, 2, COUNT + 3)
    gone = {1, 50, COUNT}
    wanted = {seq: None if seq in gone else payload_of(seq) for seq in held}
    assert held == wanted
    assert checked == 0


def test_a_flipped_bit_in_a_segment_is_named_by_its_sequence(filled, start, log_in, folder, capsys):
    server, _ = filled
    server.kill()
    file = segments_of(folder)[0]
    data = bytearray(file.read_bytes())
    data[data.index(b"message 5 ")] ^= 1
    file.write_bytes(data)
    checked = verify(folder)
    server = start()
    with server.client() as client:
        ask = log_in(client)
        held = [data_of(ask, seq) for seq in range(1, 9)]
        state = ask.api("STREAM.INFO.S")["state"]
    with pytest.raises(HTTPError) as health:
        server.document("/healthz")

    assert held == [None if seq == 5 else payload_of(seq) for seq in range(1, 9)]
    assert state["messages"] == COUNT - 1
    assert "the message with sequence 5 is lost" in health.value.read().decode()
    assert checked == 1
    assert "message 5 is lost" in capsys.readouterr().out
    assert list((folder / "segments").glob("*.damaged"))


def test_a_purge_frees_the_disk(filled, folder):
    _, ask = filled
    ask.api("STREAM.PURGE.S")
    wait_for(ask, lambda: not segments_of(folder))

    state = ask.api("STREAM.INFO.S")["state"]
    assert (state["messages"], state["last_seq"]) == (0, COUNT)


@pytest.fixture
def compressed(start, log_in):
    """Return a client of a server with a stream that is compressed at rest."""
    server = start()
    with server.client() as client:
        ask = log_in(client)
        wanted = {"name": "S", "subjects": ["s"], "storage": "file", "compression": "s2"}
        assert ask.api("STREAM.CREATE.S", wanted)["config"]["compression"] == "s2"
        yield server, ask


def test_a_compressed_stream_takes_less_and_comes_back(compressed, start, log_in, folder):
    server, ask = compressed
    fill(ask, "s", range(1, COUNT + 1))
    wait_for(ask, lambda: segments_of(folder) and is_short(folder))
    used = sum(it.stat().st_size for it in segments_of(folder))
    server.kill()
    with start().client() as client:
        ask = log_in(client)
        held = [data_of(ask, seq) for seq in (1, 2, COUNT)]

    assert used < COUNT * LARGE // 10
    assert held == [payload_of(seq) for seq in (1, 2, COUNT)]


def test_of_a_queue_only_what_lives_is_written_again(start, log_in, folder):
    server = start()
    with server.client() as client:
        ask = log_in(client)
        queue = {"name": "S", "subjects": ["s"], "storage": "file", "retention": "workqueue"}
        ask.api("STREAM.CREATE.S", queue)
        config = {"durable_name": "C", "ack_policy": "explicit"}
        ask.api("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config})
        for first in range(1, COUNT, 10):
            fill(ask, "s", range(first, first + 10))
            ask.api("STREAM.PURGE.S")
        wait_for(ask, lambda: is_short(folder))

    assert sum(it.stat().st_size for it in segments_of(folder)) < COUNT * LARGE // 8
