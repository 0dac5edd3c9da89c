"""Segments that a plugin keeps go there and come back, and a bad kind harms no other stream."""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
from contextlib import suppress
from operator import not_
from pathlib import Path
from urllib.error import HTTPError

import nats
import nats.js.errors
import pytest
from framework_jetstream.plugin import framework_add_commands
from framework_jetstream.storage.contract import StorageContract

from framework.spec import CommandGroup
from framework.testing import await_answer
from plugins.jetstream.tests.interop.storage_kinds import Shelf

KINDS = Path(__file__).with_name("storage_kinds.py")
PLUGIN = ("-plugin", "framework_jetstream.plugin")
CONFIG = 'jetstream {store_dir: "%s", block_cache_size: 2MB, storage_timeout: 5s}'
LARGE = 1 << 20
COUNT = 200
"""Some ten segments: more than have copies here."""
WINDOW = 8
KIND = {"framework.storage": "shelf"}
WANTED = {
    "name": "S",
    "subjects": ["s"],
    "storage": "file",
    "allow_direct": True,
    "metadata": KIND,
}
BAD = ("raise", "hang", "cut", "flip", "other")

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]


class TestContract(StorageContract):
    def new_kind(self):
        return Shelf()


@pytest.fixture
def start(fleet, tmp_path):
    """Return a function that starts a server in the same folder, once more each time."""

    def started(*plugins):
        plugins = plugins or ("-plugin", str(KINDS))
        return fleet.start("-m", "-1", *PLUGIN, *plugins, config=CONFIG % tmp_path)

    return started


@pytest.fixture
def shelf(tmp_path):
    return tmp_path / "jetstream" / "log" / "storage" / "shelf"


@pytest.fixture
def here(tmp_path):
    return tmp_path / "jetstream" / "log" / "segments"


def payload_of(number):
    return (b"message %d " % number).ljust(LARGE, b".")


def fill(ask, subject, numbers):
    for number in numbers:
        if number % WINDOW and number != numbers[-1]:
            ask.send(subject, payload_of(number))
        else:
            assert json.loads(ask.ask(subject, payload_of(number))[1])["seq"] == number


def wait_until(ask, happened):
    """Publish to another stream until something has happened: it goes on all the time.

    The test's own time ends it.
    """
    while not happened():
        assert json.loads(ask.ask("o", b"more")[1])["stream"] == "O"


def kept_on(shelf):
    return len(list(shelf.glob("*.bytes")))


def bytes_on(shelf):
    """Return what all files have together; one may be removed meanwhile."""
    sizes = []
    for path in shelf.glob("*.bytes"):
        with suppress(FileNotFoundError):
            sizes.append(path.stat().st_size)
    return sum(sizes)


def data_of(ask, seq):
    found = ask.api("STREAM.MSG.GET.S", {"seq": seq})
    return base64.b64decode(found["message"]["data"]) if "message" in found else found["error"]


def health_of(server):
    try:
        return server.document("/healthz")["status"], ""
    except HTTPError as error:
        return "", error.read().decode()


def await_sick(server):
    """Wait until a kind has failed: answers of the API have a deadline that may come before."""
    await_answer(server, lambda: health_of(server)[0], not_)


def verify(folder):
    """Return what `framework jetstream verify` returns."""
    parser = argparse.ArgumentParser()
    framework_add_commands(CommandGroup(parser))
    arguments = parser.parse_args(["verify", str(folder)])
    return arguments.run(arguments)


def let_be(shelf, mode):
    """Let the kind behave in another way; empty: well."""
    gate = shelf / "gate"
    if mode:
        os.mkfifo(gate)
        (shelf / "mode").write_text(mode)
        return
    mode = (shelf / "mode").read_text()
    (shelf / "mode").unlink()
    if mode == "hang":
        gate.write_bytes(b"go on")
    gate.unlink()


def create(ask, **more):
    ask.api("STREAM.CREATE.O", {"name": "O", "subjects": ["o"], "storage": "file"})
    return ask.api("STREAM.CREATE.S", {**WANTED, **more})


def is_away(shelf, here):
    """Whether the first messages are with the kind alone."""
    kept = sorted(here.glob("*.kept"))
    return bool(kept) and not kept[0].with_suffix(".seg").exists() and kept_on(shelf) >= len(kept)


@pytest.fixture
def filled(start, log_in, shelf, here):
    """Return a server with a stream of 200 MiB with a kind, and a client."""
    server = start()
    with server.client() as client:
        ask = log_in(client)
        made = create(ask)
        assert made["config"]["metadata"]["framework.storage"] == "shelf"
        fill(ask, "s", range(1, COUNT + 1))
        wait_until(ask, lambda: is_away(shelf, here))
        yield server, ask


def test_a_stream_goes_to_its_kind_and_comes_back(filled, start, log_in, shelf, capsys):
    server, ask = filled
    here = shelf.parents[1] / "segments"
    held = {seq: data_of(ask, seq) for seq in range(1, COUNT + 1, 40)}
    consumer = {"durable_name": "C", "ack_policy": "none"}
    ask.api("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": consumer})
    delivered = [body for _ in range(COUNT // 8) for _, _, body in ask.fetch("S", "C", 8)]
    before = ask.api("STREAM.INFO.S")["state"]
    server.kill()
    checked = verify(here.parent)
    server = start()
    with server.client() as client:
        ask = log_in(client)
        after = ask.api("STREAM.INFO.S")["state"]
        again = {seq: data_of(ask, seq) for seq in held}
        direct = ask.ask("$JS.API.DIRECT.GET.S", {"seq": 3})[1]
        removed = ask.api("STREAM.PURGE.S")
        wait_until(ask, lambda: not kept_on(shelf) and not list(here.glob("*.kept")))
        status = health_of(server)

    assert held == again == {seq: payload_of(seq) for seq in held}
    assert delivered == [payload_of(seq) for seq in range(1, len(delivered) + 1)]
    assert after == before
    assert after["messages"] == COUNT
    assert direct == payload_of(3)
    assert removed["purged"] == COUNT
    assert status == ("ok", "")
    assert checked == 0
    assert "is not read: storage kind shelf, as " in capsys.readouterr().out


def test_what_is_deleted_is_removed_there_too(filled, shelf, here):
    _, ask = filled
    deleted = ask.api("STREAM.DELETE.S")
    wait_until(ask, lambda: not kept_on(shelf) and not list(here.glob("*.kept")))

    assert deleted["success"]


def test_sparse_segments_are_written_again(filled, shelf):
    _, ask = filled
    for seq in range(1, COUNT - 20):
        if seq % 16:
            assert ask.api("STREAM.MSG.DELETE.S", {"seq": seq})["success"]
    fill(ask, "s", range(COUNT + 1, COUNT + 100))
    wait_until(ask, lambda: bytes_on(shelf) < 170 * LARGE)
    left = [seq for seq in range(1, COUNT + 100) if seq >= COUNT - 20 or seq % 16 == 0]

    assert ask.api("STREAM.INFO.S")["state"]["messages"] == len(left)
    assert {seq: data_of(ask, seq) for seq in left[::9]} == {
        seq: payload_of(seq) for seq in left[::9]
    }


@pytest.mark.parametrize("mode", BAD)
def test_a_bad_kind_takes_its_streams_offline_and_no_other(filled, shelf, mode):
    server, ask = filled
    let_be(shelf, mode)
    # Nobody knows before it is asked: this is with the kind alone.
    first = ask.ask("$JS.API.DIRECT.GET.S", {"seq": 3})[0]
    refused = json.loads(ask.ask("s", b"refused")[1])["error"]
    asked = data_of(ask, 3)
    info = ask.api("STREAM.INFO.S")
    other = json.loads(ask.ask("o", b"taken")[1])
    other_got = ask.api("STREAM.MSG.GET.O", {"seq": 1})
    new = ask.api("STREAM.CREATE.N", {**WANTED, "name": "N", "subjects": ["n"]})
    _, sick = health_of(server)
    let_be(shelf, "")
    wait_until(ask, lambda: health_of(server)[0] == "ok")
    wait_until(ask, lambda: "stream" in json.loads(ask.ask("s", b"taken")[1]))
    found = data_of(ask, 3)

    assert b"503" in first
    assert refused == {"code": 500, "err_code": 10118, "description": "stream is offline"}
    assert (asked["err_code"], "storage kind shelf" in asked["description"]) == (10194, True)
    assert info["state"]["messages"] == COUNT
    assert other["stream"] == "O"
    assert other_got["message"]["seq"] == 1
    assert new["error"]["err_code"] == 10194
    assert "storage kind shelf" in sick
    assert found == payload_of(3)


def test_a_client_library_sees_the_errors_of_a_kind_that_hangs(filled, shelf):
    server, _ = filled
    let_be(shelf, "hang")

    async def scenario():
        client = await nats.connect(server.url, allow_reconnect=False)
        js = client.jetstream(timeout=30)
        with pytest.raises(nats.js.errors.APIError) as got:
            await js.get_msg("S", 3)
        await_sick(server)
        with pytest.raises(nats.js.errors.APIError) as published:
            await js.publish("s", b"refused")
        other = await js.publish("o", b"taken")
        info = await js.stream_info("S")
        await client.close()
        return got.value, published.value, other, info

    got, published, other, info = asyncio.run(scenario())
    # It ends although the kind hangs.
    server.stop()

    # The server's own deadline for answers of the API may come first.
    assert got.code in {500, 503}
    assert published.err_code == 10118
    assert other.stream == "O"
    assert info.state.messages == COUNT
    assert info.config.metadata["framework.storage"] == "shelf"


def test_who_waits_for_a_kind_that_fails_is_told(filled, shelf):
    server, ask = filled
    made = {"stream_name": "S", "config": {"durable_name": "D", "ack_policy": "explicit"}}
    ask.api("CONSUMER.DURABLE.CREATE.S.D", made)
    let_be(shelf, "raise")
    inboxes = [ask.listen(), ask.listen()]
    request = {"batch": COUNT, "expires": 60 * 10**9}
    ask.request("$JS.API.CONSUMER.MSG.NEXT.S.D", request, inboxes[0])
    heard = read_to_status(ask, inboxes[0])
    await_sick(server)
    ask.request("$JS.API.CONSUMER.MSG.NEXT.S.D", request, inboxes[1])
    again = read_to_status(ask, inboxes[1])
    let_be(shelf, "")
    wait_until(ask, lambda: health_of(server)[0] == "ok")
    rest = ask.fetch("S", "D", COUNT - len(heard) - len(again))

    assert len(heard) < COUNT
    assert again == []
    assert [*heard, *(body for *_, body in rest)] == [payload_of(it + 1) for it in range(COUNT)]


def read_to_status(ask, inbox):
    """Return payloads of messages up to the status that the stream is offline."""
    payloads = []
    header, payload = ask.heard(inbox)
    while not header:
        payloads.append(payload)
        header, payload = ask.heard(inbox)
    assert header == b"NATS/1.0 503 Stream Offline\r\n\r\n"
    return payloads


def test_a_stream_that_is_offline_from_the_start_can_be_deleted(filled, start, log_in, shelf):
    server, ask = filled
    made = {"stream_name": "S", "config": {"durable_name": "D", "ack_policy": "explicit"}}
    ask.api("CONSUMER.DURABLE.CREATE.S.D", made)
    server.kill()
    os.mkfifo(shelf / "gate")
    (shelf / "mode").write_text("raise")
    server = start()
    with server.client() as client:
        ask = log_in(client)
        asked = ask.api("STREAM.DELETE.S", {"no": "payload"})
        deleted = ask.api("STREAM.DELETE.S")
        again = ask.api("STREAM.DELETE.S")
        _, sick = health_of(server)
        other = ask.api("STREAM.CREATE.N", {"name": "N", "subjects": ["s"]})
    server.kill()
    (shelf / "mode").unlink()
    server = start()
    with server.client() as client:
        ask = log_in(client)
        wait_until(ask, lambda: not kept_on(shelf))
        names = ask.api("STREAM.NAMES")["streams"]

    assert asked["error"]["err_code"] == 10038
    assert deleted["success"]
    assert again["error"]["err_code"] == 10059
    assert "stream is offline" not in sick
    assert other["config"]["name"] == "N"
    assert names == ["N", "O"]


@pytest.mark.parametrize("mode", [*BAD, "gone"])
def test_a_kind_that_is_bad_at_a_start_loses_nothing(filled, start, log_in, shelf, mode):
    server, _ = filled
    server.kill()
    os.mkfifo(shelf / "gate")
    (shelf / "mode").write_text(mode)
    server = start("-D") if mode == "gone" else start()
    with server.client() as client:
        ask = log_in(client)
        asked = data_of(ask, 3)
        again = ask.api("STREAM.CREATE.S", WANTED)
        other = json.loads(ask.ask("o", b"taken")[1])
        _, sick = health_of(server)
    server.kill()
    (shelf / "mode").unlink()
    server = start()
    with server.client() as client:
        ask = log_in(client)
        state = ask.api("STREAM.INFO.S")["state"]
        found = [data_of(ask, seq) for seq in (1, 3, COUNT)]

    assert asked["err_code"] == again["error"]["err_code"] == 10194
    assert "stream is offline: storage kind shelf" in asked["description"]
    assert other["stream"] == "O"
    assert "storage kind shelf" in sick
    assert (state["messages"], state["last_seq"]) == (COUNT, COUNT)
    assert found == [payload_of(seq) for seq in (1, 3, COUNT)]


def test_a_kind_that_keeps_nothing_gets_nothing_taken_away(start, log_in, shelf, here):
    server = start()
    with server.client() as client:
        ask = log_in(client)
        create(ask)
        fill(ask, "s", range(1, 3))
        shelf.mkdir(parents=True)
        (shelf / "mode").write_text("forget")
        for number in range(3, 80):
            ask.send("s", payload_of(number))
        wait_until(ask, lambda: health_of(server)[0] != "ok")
        stored = ask.api("STREAM.INFO.S")["state"]["messages"]
        held = [data_of(ask, 1), json.loads(ask.ask("s", b"no")[1])["error"]["err_code"]]
        segments = len(list(here.glob("*.seg")))
    server.kill()
    (shelf / "mode").unlink()
    server = start()
    with server.client() as client:
        ask = log_in(client)
        wait_until(ask, lambda: kept_on(shelf))
        found = [data_of(ask, seq) for seq in range(1, stored + 1)]

    assert (held[0]["err_code"], held[1]) == (10194, 10118)
    assert segments
    assert found == [payload_of(seq) for seq in range(1, stored + 1)]


def test_kill_9_at_any_moment_loses_nothing(start, log_in, shelf):
    stored = 0
    for turn in range(5):
        server = start()
        with server.client() as client:
            ask = log_in(client)
            create(ask)
            state = ask.api("STREAM.INFO.S")["state"]
            assert state["last_seq"] == stored == state["messages"]
            seen = kept_on(shelf)
            for _ in range(400):
                fill(ask, "s", range(stored + 1, stored + 9))
                stored += 8
                if kept_on(shelf) > seen + turn % 2:
                    break
            server.kill()
    server = start()
    with server.client() as client:
        ask = log_in(client)
        found = [data_of(ask, seq) for seq in range(1, stored + 1, 5)]

    assert found == [payload_of(seq) for seq in range(1, stored + 1, 5)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"metadata": {"framework.storage": "shell"}}, "there is no storage kind shell: shelf"),
        ({"storage": "memory"}, "storage kind shelf keeps streams of storage file only"),
    ],
)
def test_a_stream_that_no_kind_can_keep_is_refused(start, log_in, change, words):
    with start().client() as client:
        ask = log_in(client)
        refused = create(ask, **change)

    assert refused["error"]["err_code"] == 10052
    assert refused["error"]["description"] == words


def test_a_stream_keeps_to_its_kind(start, log_in):
    with start().client() as client:
        ask = log_in(client)
        create(ask)
        changed = ask.api("STREAM.UPDATE.S", {**WANTED, "metadata": {}})
        other = ask.api("STREAM.UPDATE.S", {**WANTED, "metadata": {**KIND, "more": "words"}})

    assert "can not change metadata framework.storage" in changed["error"]["description"]
    assert other["config"]["metadata"]["more"] == "words"
