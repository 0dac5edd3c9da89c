"""A server has alone what others have had too, and finds its log damaged."""

from __future__ import annotations

import argparse
import json
import shutil
import struct
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from framework_jetstream.log import Kind
from framework_jetstream.plugin import framework_add_commands
from shared_clusters import NAMES, connected, start, until

from framework.spec import CommandGroup
from framework.testing import OURS

pytestmark = [pytest.mark.interop, pytest.mark.timeout(120)]

STREAM = {"name": "S", "subjects": ["s.>"]}
SHARED, ALONE = 20, 10
"""Messages: of all three servers, and then of one."""
STREAM_OFFLINE_REASON = 10194
RECORD_HEAD = struct.Struct("<IIHHIIIQQ")
S2 = b"S2sTwO"
LARGE = b"y" * 6000
"""So long that an entry with it is compressed."""


def payload_of(number):
    return b"message %d " % number + (LARGE if number < SHARED else b"x" * (number * 31 % 900))


def ask(api, what, **wanted):
    return until(lambda: (told := api(what, json.dumps(wanted).encode())).get("config") and told)


def publish(api, numbers):
    for number in numbers:
        until(lambda it=number: "seq" in json.loads(api.requests.ask("s.a", payload_of(it))[1]))


def streams_of(server):
    """Return the names of streams that a server has."""
    said = server.document("/jsz?acc=APP&streams=1")
    details = said["account_details"][0].get("stream_detail") or ()
    return {it["name"] for it in details}


def await_compression(api, folder):
    """Publish until servers have said to each other that they take what is compressed."""
    ask(api, "STREAM.CREATE.W", name="W", subjects=["w"], num_replicas=3)

    def is_compressed():
        api.requests.ask("w", LARGE)
        return any(S2 in it.read_bytes() for it in folder.rglob("*.log"))

    until(is_compressed)


@pytest.fixture
def alone(fleet, tmp_path, log_in):
    """Return three servers, and the one that has alone what all of them have had."""
    servers = start(fleet, tmp_path)
    raw, api = connected(servers["n1"], log_in)
    with raw:
        ask(api, "STREAM.CREATE.S", **STREAM, num_replicas=3)
        wanted = {"durable_name": "C", "ack_policy": "explicit"}
        ask(api, "CONSUMER.DURABLE.CREATE.S.C", stream_name="S", config=wanted)
        await_compression(api, tmp_path)
        publish(api, range(SHARED))
        ask(api, "STREAM.UPDATE.S", **STREAM, num_replicas=1)
        until(lambda: not api("STREAM.INFO.S")["cluster"].get("replicas"))
        until(lambda: sum("S" in streams_of(it) for it in servers.values()) == 1)
        publish(api, range(SHARED, SHARED + ALONE))
        leader = until(lambda: api("STREAM.INFO.S")["cluster"].get("leader"))
    return servers, leader


def change_log(store, change):
    """Change the file of the log that has messages, under a server that is down."""
    (file,) = [it for it in store.rglob("*.log") if b"message 25 " in it.read_bytes()]
    data = bytearray(file.read_bytes())
    change(data)
    file.write_bytes(data)


def flip_message(data):
    """Flip a bit of one message."""
    data[data.rindex(b"message 25 ") + 3] ^= 1


def flip_compressed(data):
    """Flip a bit of a message that was compressed."""
    data[data.rindex(S2) + 12] ^= 1


def flip_head(data):
    """Flip a bit of what says what an entry is: it is missing then."""
    at = data.rindex(b"message 25 ")
    while True:
        at = data.rindex(bytes([Kind.BATCH, 0]), 0, at)
        _, length, kind, flags, parts, _, _, _, index = RECORD_HEAD.unpack_from(data, at - 8)
        if kind == Kind.BATCH and not flags and parts == 2 and length < 4096 and 0 < index < 1000:
            data[at + 20] ^= 1
            return


@pytest.fixture
def restarted(fleet, tmp_path, alone):
    """Return what starts that server anew, with another log, and returns it."""

    def restart(change):
        servers, name = alone
        servers[name].kill()
        change_log(tmp_path / f"{OURS}-{name}", change)
        return fleet.restart(servers[name])

    return restart


def dumped(store, copy, capsys):
    """Return all bytes that `framework jetstream dump` finds in a copy of a store."""
    shutil.copytree(store, copy)
    parser = argparse.ArgumentParser()
    framework_add_commands(CommandGroup(parser))
    arguments = parser.parse_args(["dump", str(copy / "jetstream" / "log")])
    assert arguments.run(arguments) == 1, "something is damaged"
    rows = map(json.loads, capsys.readouterr().out.splitlines())
    return b"".join(bytes.fromhex(part) for row in rows for part in row.get("parts", ()))


@pytest.mark.parametrize(
    ("change", "lost"),
    [(flip_message, {26}), (flip_compressed, {SHARED})],
    ids=["plain", "compressed"],
)
def test_one_bit_takes_one_message(restarted, log_in, change, lost):
    server = restarted(change)

    raw, api = connected(server, log_in)
    with raw:
        info = until(lambda: (told := api("STREAM.INFO.S")).get("state") and told)
        assert info["state"]["messages"] == SHARED + ALONE - len(lost)
        assert info["state"]["last_seq"] == SHARED + ALONE
        for seq in range(1, SHARED + ALONE + 1):
            found = api("STREAM.MSG.GET.S", json.dumps({"seq": seq}).encode())
            assert ("message" in found) == (seq not in lost), seq
        assert until(lambda: api("CONSUMER.INFO.S.C").get("num_pending")) == SHARED + ALONE - len(
            lost
        )
        for seq in lost:
            server.wait_log(f"the message with sequence {seq} is lost")
        # What is left goes on, and to others.
        publish(api, range(SHARED + ALONE, SHARED + 2 * ALONE))
        ask(api, "STREAM.UPDATE.S", **STREAM, num_replicas=3)

        def are_current():
            replicas = api("STREAM.INFO.S")["cluster"].get("replicas") or []
            return len(replicas) == len(NAMES) - 1 and all(it["current"] for it in replicas)

        until(are_current)
        state = api("STREAM.INFO.S")["state"]
        assert state["messages"] == SHARED + 2 * ALONE - len(lost)


def test_a_stream_of_which_entries_are_missing_is_kept_and_not_served(
    restarted, tmp_path, log_in, alone, capsys
):
    server = restarted(flip_head)

    server.wait_log("entries are missing in the log, this server had it alone")
    raw, api = connected(server, log_in)
    with raw:
        said = until(lambda: api("STREAM.INFO.S").get("error"))
        assert said["err_code"] == STREAM_OFFLINE_REASON
        assert "this server had it alone" in said["description"]
        found = dumped(tmp_path / f"{OURS}-{alone[1]}", tmp_path / "copy", capsys)
        assert [it for it in range(SHARED + ALONE) if payload_of(it) not in found] == [25]
        # Who has what is left elsewhere, or wants it no more, deletes it, and may make another.
        until(lambda: api("STREAM.DELETE.S").get("success"))
        ask(api, "STREAM.CREATE.S", **STREAM, num_replicas=3)
        publish(api, range(3))
        assert api("STREAM.INFO.S")["state"]["messages"] == 3
