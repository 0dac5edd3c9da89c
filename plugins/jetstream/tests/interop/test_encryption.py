"""Encryption at rest on real disks: what stands there, wrong keys, kills, and another key."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
from pathlib import Path

import nats
import pytest
from framework_jetstream.plugin import framework_add_commands

from framework.spec import CommandGroup
from framework.testing.errors import ServerFailedError

PLUGIN = ("-plugin", "framework_jetstream.plugin")
SHELF = ("-plugin", str(Path(__file__).with_name("storage_kinds.py")))
CONFIG = 'jetstream {{ store_dir: "{folder}", {more} }}'
MARKS = (b"hush hush", b"secret.subject", b"X-Secret", b"SECRETS", b"watcher")
LARGE = 100_000
COUNT = 60
"""More than 1 MiB, so that the stream goes to segments when files are given up."""
TURNS = 3000
AGAIN = "it is written again now"
DONE = "is encrypted with `key` now"

pytestmark = pytest.mark.interop


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store"


@pytest.fixture
def lives(fleet, store):
    """Return a function that starts a server in the same folder, once more each time."""

    def start(more):
        return fleet.start(*PLUGIN, config=CONFIG.format(folder=store, more=more))

    return start


def bytes_of(store):
    """Return a digest of each file."""
    files = sorted(it for it in store.rglob("*") if it.is_file())
    return {it: hashlib.sha256(it.read_bytes()).digest() for it in files}


def stored(store):
    """Return the names of all files of the log and of segments."""
    return [it.name for it in store.rglob("*") if it.suffix in {".log", ".seg"}]


def marked(store):
    """Return files in which something stands that was published, or said of a stream."""
    files = sorted(it for it in store.rglob("*") if it.is_file())
    return [it.name for it in files if any(mark in it.read_bytes() for mark in MARKS)]


def verify(store, *words):
    parser = argparse.ArgumentParser()
    framework_add_commands(CommandGroup(parser))
    arguments = parser.parse_args(["verify", str(store / "jetstream" / "log"), *words])
    return arguments.run(arguments)


async def with_streams(server, scenario):
    client = await nats.connect(server.url, allow_reconnect=False)
    try:
        return await asyncio.wait_for(scenario(client.jetstream()), 60)
    finally:
        await client.close()


def payload_of(number):
    return b"hush hush %d " % number + b"." * LARGE


async def fill(js):
    await js.add_stream(name="SECRETS", subjects=["secret.>"])
    await js.add_stream(name="SMALL", subjects=["small"])
    await js.pull_subscribe("secret.subject", durable="watcher")
    for number in range(COUNT):
        await js.publish("secret.subject", payload_of(number), headers={"X-Secret": "yes"})
        await js.publish("small", b"hush hush")


async def check(js):
    for seq in (1, COUNT // 2, COUNT):
        message = await js.get_msg("SECRETS", seq)
        assert message.data == payload_of(seq - 1)
        assert message.headers == {"X-Secret": "yes"}
    assert (await js.stream_info("SMALL")).state.messages == COUNT
    assert (await js.consumer_info("SECRETS", "watcher")).num_pending == COUNT


async def publish_until(js, happened):
    """Publish until something has happened."""
    for _ in range(TURNS):
        if happened():
            return
        await js.publish("small", b"more")
        await js.purge_stream("SMALL", keep=COUNT)
    raise AssertionError("it has not happened")


@pytest.mark.parametrize("cipher", ["", "cipher: aes"])
def test_nothing_stands_on_the_disk_and_only_the_key_opens_it(
    lives, store, cipher, monkeypatch, capsys
):
    monkeypatch.setenv("JS_KEY", "the-first-key-of-this-server")
    monkeypatch.setenv("OTHER", "another-key")
    server = lives(f"key: $JS_KEY, {cipher}")
    asyncio.run(with_streams(server, fill))
    server.kill()

    assert marked(store) == []
    before = bytes_of(store)
    for more, why in (
        ("key: $OTHER", "is not encrypted with `key`"),
        ("key: $OTHER, prev_key: nothing", "with neither `key` nor `prev_key`"),
        ("", "there is no `key` in the block `jetstream`"),
    ):
        with pytest.raises(ServerFailedError, match=why):
            lives(more)
        assert bytes_of(store) == before

    assert verify(store) == 0
    assert "read without a key" in capsys.readouterr().out
    assert verify(store, "--key-from", "JS_KEY") == 0
    assert capsys.readouterr().out.startswith("whole: ")
    assert verify(store, "--key-from", "OTHER") == 2
    asyncio.run(with_streams(lives(f"key: $JS_KEY, {cipher}"), check))


def test_a_store_is_encrypted_and_gets_another_key(lives, store, monkeypatch, capsys):
    monkeypatch.setenv("NEW", "key-of-today")
    server = lives("")
    asyncio.run(with_streams(server, fill))
    server.kill()
    assert marked(store)

    for more in ("key: 'key of yesterday'", "key: $NEW, prev_key: 'key of yesterday'"):
        before = set(stored(store))
        killed = lives(more)
        killed.wait_log(AGAIN)
        asyncio.run(with_streams(killed, check))
        killed.kill()
        server = lives(more)

        def is_done(before=before):
            return before.isdisjoint(stored(store))

        asyncio.run(with_streams(server, lambda js, is_done=is_done: publish_until(js, is_done)))
        asyncio.run(with_streams(server, check))
        if AGAIN in server.log():
            server.wait_log(DONE)
        server.kill()
        assert marked(store) == []

    assert verify(store, "--key-from", "NEW") == 0
    assert capsys.readouterr().out.startswith("whole: ")
    assert list((store / "jetstream" / "log" / "segments").glob("*.seg"))
    asyncio.run(with_streams(lives("key: $NEW"), check))


async def fill_shelf(js):
    await js.add_stream(
        name="SECRETS", subjects=["secret.>"], metadata={"framework.storage": "shelf"}
    )
    await js.add_stream(name="SMALL", subjects=["small"])
    for number in range(COUNT):
        await js.publish("secret.subject", payload_of(number))


def test_a_wrong_key_is_refused_before_a_storage_kind_is_asked(fleet, store):
    def start(more):
        return fleet.start(*PLUGIN, *SHELF, config=CONFIG.format(folder=store, more=more))

    log = store / "jetstream" / "log"

    def has_segment():
        return bool(list((log / "storage" / "shelf").glob("*.bytes")))

    server = start("")
    asyncio.run(with_streams(server, fill_shelf))
    server.kill()
    server = start("key: one")  # writes all of it again, the stream as a segment
    asyncio.run(with_streams(server, lambda js: publish_until(js, has_segment)))
    server.kill()
    kept = sorted((log / "segments").glob("*.kept"))
    for it in kept:
        it.with_suffix(".seg").unlink(missing_ok=True)
    before = bytes_of(store)
    with pytest.raises(ServerFailedError, match=f"{kept[0].stem}.seg is not encrypted with `key`"):
        start("key: two")

    assert bytes_of(store) == before
