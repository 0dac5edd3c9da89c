"""A server of three loses what it had stored, and gets it back from the others."""

from __future__ import annotations

import argparse
import base64
import json
import shutil
import sys
from pathlib import Path
from urllib.error import HTTPError

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from framework_jetstream.meta.letters import ALL, Hello, letter_from_bytes
from framework_jetstream.plugin import framework_add_commands
from shared_clusters import NAMES, Api, connected, meta, start, until

from framework.spec import CommandGroup
from framework.testing import OURS, RawClient

MESSAGES = 60
LARGE_MESSAGES = 40
STREAM = {"name": "S", "subjects": ["s.>"], "num_replicas": 3, "storage": "file"}
CONSUMER = {"durable_name": "C", "ack_policy": "explicit", "num_replicas": 3}
NEVER, OFTEN = ", scrub_interval: 0", ", scrub_interval: 300ms"
"""How often segments are read that nobody wants."""
SILENT_NS = 2_000_000_000

pytestmark = pytest.mark.interop


def flip(file, places):
    """Flip a bit at each of some places of what is not zeros at the end of a file."""
    data = bytearray(file.read_bytes())
    used = len(bytes(data).rstrip(b"\0"))
    for place in places:
        data[int(used * place)] ^= 16
    file.write_bytes(data)


def hurt_log(store):
    """Flip bits in all files of the log, but for the end, which could have been torn."""
    for file in store.rglob("*.log"):
        flip(file, [0.3, 0.5, 0.55, 0.6, 0.7])


def hurt_heads(store):
    """Make a page of each file of the log zeros: whose records stood there is not known."""
    for file in store.rglob("*.log"):
        data = bytearray(file.read_bytes())
        used = len(bytes(data).rstrip(b"\0"))
        at = used // 2 // 4096 * 4096
        data[at : at + 4096] = bytes(4096)
        file.write_bytes(data)


def empty_log(store):
    """Remove all files of the log."""
    for file in store.rglob("*.log"):
        file.unlink()


HURTS = (hurt_log, hurt_heads, empty_log, shutil.rmtree)


def health(server):
    """Return what is wrong with a server; empty: nothing."""
    try:
        said = server.document("/healthz")
    except HTTPError as error:
        said = json.loads(error.read())
    return "" if said.get("status") == "ok" else str(said)


def leader_of(api):
    return until(lambda: (api("STREAM.INFO.S").get("cluster") or {}).get("leader"))


def are_current(api):
    """Whether all replicas have what the leader has."""
    replicas = (api("STREAM.INFO.S").get("cluster") or {}).get("replicas") or ()
    return len([it for it in replicas if it.get("current")]) == len(NAMES) - 1


def lead(api, name):
    """Let a server lead the stream."""

    def leads():
        if leader_of(api) == name:
            return True
        wanted = json.dumps({"placement": {"preferred": name}}).encode()
        api("STREAM.LEADER.STEPDOWN.S", wanted)
        return False

    until(leads)


def contents(api):
    """Return what who leads the stream has, by sequence."""
    last = until(lambda: api("STREAM.INFO.S").get("state"))["last_seq"]
    found = {}
    for seq in range(1, last + 1):
        message = api("STREAM.MSG.GET.S", json.dumps({"seq": seq}).encode())["message"]
        found[seq] = base64.b64decode(message["data"])
    return found


@pytest.fixture
def filled(fleet, tmp_path, log_in):
    """Return three servers with a stream, and the name of the one that leads it."""
    servers = start(fleet, tmp_path)
    raw, api = connected(servers["n1"], log_in)
    with raw:
        assert "config" in api("STREAM.CREATE.S", json.dumps(STREAM).encode())
        wanted = {"stream_name": "S", "config": CONSUMER}
        until(lambda: "config" in api("CONSUMER.DURABLE.CREATE.S.C", json.dumps(wanted).encode()))
        for number in range(MESSAGES):
            payload = b"%d " % number + b"x" * (number * 31 % 900)
            until(lambda payload=payload: "seq" in told(api, payload))
        leader = leader_of(api)
    return servers, leader


def told(api, payload):
    """Publish; return the acknowledgement, or that there is none."""
    try:
        return json.loads(api.requests.ask("s.a", payload)[1])
    except TimeoutError:
        return {}


@pytest.mark.timeout(240)
@pytest.mark.parametrize("hurt", HURTS, ids=lambda it: it.__name__)
def test_a_server_gets_back_what_it_lost(fleet, filled, tmp_path, log_in, hurt):
    servers, leader = filled
    name = next(it for it in NAMES if it != leader)
    other = next(it for it in NAMES if it not in {name, leader})
    raw, api = connected(servers[leader], log_in)
    with raw:
        before = contents(api)
    servers[name].kill()
    hurt(tmp_path / f"{OURS}-{name}")
    servers[name] = fleet.restart(servers[name])

    raw, api = connected(servers[leader], log_in)
    with raw:
        until(lambda: "seq" in told(api, b"after"))
        until(lambda: are_current(api))
        until(lambda: not health(servers[name]))
        lead(api, name)
        after = contents(api)
    assert {seq: after.get(seq) for seq in before} == before

    servers[other].kill()  # what is acknowledged now rests on the one that was hurt
    raw, api = connected(servers[name], log_in)
    with raw:
        until(lambda: told(api, b"last").get("seq"))
        info = api("CONSUMER.INFO.S.C")
    assert info["name"] == "C"


@pytest.mark.timeout(120)
def test_a_server_says_what_is_lost_while_nobody_gives_it_back(fleet, filled, tmp_path):
    servers, leader = filled
    name = next(it for it in NAMES if it != leader)
    for server in servers.values():
        server.kill()
    hurt_heads(tmp_path / f"{OURS}-{name}")  # so all groups are doubted
    alone = fleet.restart(servers[name])

    stream = {"account": "APP", "stream": "S"}
    until(lambda: faulty_at(alone) == [stream, {**stream, "consumer": "C"}])
    assert "repairing" in health(alone)
    alone.wait_log("JetStream is repairing: the log is damaged, and 3 groups")
    alone.wait_log("something of stream S of account APP is lost here")
    until(lambda: lost_at(alone))

    for other in NAMES:
        if other != name:
            servers[other] = fleet.restart(servers[other])
    until(lambda: not faulty_at(alone))
    until(lambda: not lost_at(alone))
    until(lambda: not health(alone))


def faulty_at(server):
    """Return what a server has lost of streams and consumers, as it says."""
    return server.document("/jsz").get("faulty") or []


def lost_at(server):
    """Return the groups of which a server says that it counts for nothing there."""
    found = server.document("/raftz?acc=APP"), server.document("/raftz")
    groups = [it for told in found for account in told.values() for it in account.values()]
    return [it for it in groups if it.get("lost")]


def hurt_segments(store):
    """Flip bits in all segments."""
    files = list(store.rglob("*.seg"))
    assert files
    for file in files:
        flip(file, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])


def read_at(api, name):
    """Return what a server has when it leads the stream; None: it can't read all of it now."""
    lead(api, name)
    found = {}
    for seq in range(1, LARGE_MESSAGES + 1):
        said = api("STREAM.MSG.GET.S", json.dumps({"seq": seq}).encode())
        if "message" not in said:
            return None
        found[seq] = base64.b64decode(said["message"]["data"])
    return found if leader_of(api) == name else None


PAYLOADS = [b"%d " % it + bytes(range(256)) * 256 for it in range(LARGE_MESSAGES)]


def in_segments(fleet, tmp_path, log_in, jetstream=""):
    """Return three servers with a stream in segments, and the name of the one that leads it."""
    servers = start(fleet, tmp_path, jetstream=jetstream)
    raw, api = connected(servers["n1"], log_in)
    with raw:
        # One server's stream has segments as soon as others are added to it.
        wanted = json.dumps({**STREAM, "num_replicas": 1}).encode()
        assert "config" in api("STREAM.CREATE.S", wanted)
        for payload in PAYLOADS:
            until(lambda payload=payload: "seq" in told(api, payload))
        api("STREAM.UPDATE.S", json.dumps(STREAM).encode())
        until(lambda: "desired" not in api("STREAM.INFO.S")["cluster"])
        until(lambda: are_current(api))
        return servers, leader_of(api)


@pytest.mark.timeout(240)
def test_damaged_segments_come_from_other_servers(fleet, tmp_path, log_in):
    servers, leader = in_segments(fleet, tmp_path, log_in, NEVER)
    name = next(it for it in NAMES if it != leader)
    servers[name].kill()
    hurt_segments(tmp_path / f"{OURS}-{name}")
    servers[name] = fleet.restart(servers[name])

    raw, api = connected(servers[leader], log_in)
    with raw:
        found = until(lambda: are_current(api) and read_at(api, name))
        assert found == dict(enumerate(PAYLOADS, 1))
        until(lambda: are_current(api))
    until(lambda: not health(servers[name]))
    # What was flipped is what was read.
    assert "come from other servers" in servers[name].log()
    assert "something of stream S of account APP is lost here" in servers[name].log()


def flip_message(store, number):
    """Flip a bit of a message in the segment that has it, under the server."""
    for file in store.rglob("*.seg"):
        at = file.read_bytes().find(PAYLOADS[number])
        if at >= 0:
            with file.open("r+b") as opened:
                opened.seek(at)
                opened.write(bytes([PAYLOADS[number][0] ^ 1]))
            return
    raise AssertionError("no segment has it")


def is_verified(store):
    """Whether `framework jetstream verify` finds a store whole."""
    parser = argparse.ArgumentParser()
    framework_add_commands(CommandGroup(parser))
    arguments = parser.parse_args(["verify", str(store / "jetstream" / "log")])
    return arguments.run(arguments) == 0


@pytest.mark.timeout(240)
def test_damage_that_nobody_reads_is_found_and_comes_from_other_servers(fleet, tmp_path, log_in):
    servers, leader = in_segments(fleet, tmp_path, log_in, OFTEN)
    name = next(it for it in NAMES if it != leader)
    flip_message(tmp_path / f"{OURS}-{name}", 7)

    servers[name].wait_log("the message with sequence 8 is lost here, and come from other servers")
    until(lambda: not faulty_at(servers[name]))
    until(lambda: not health(servers[name]))
    raw, api = connected(servers[leader], log_in)
    with raw:
        found = until(lambda: are_current(api) and read_at(api, name))
        assert found == dict(enumerate(PAYLOADS, 1))
    for server in servers.values():
        server.kill()
    assert all(is_verified(tmp_path / f"{OURS}-{it}") for it in NAMES)


def is_silent(api, name):
    """Whether a replica was not heard for longer than it takes to elect another leader."""
    replicas = (api("STREAM.INFO.S").get("cluster") or {}).get("replicas") or ()
    return any(it["name"] == name and it["active"] > SILENT_NS for it in replicas)


def hello_of_faulty(system, heard):
    """Return the next greeting of a server that has lost something."""
    while True:
        letter = letter_from_bytes(system.heard(heard)[1])[1]
        if isinstance(letter, Hello) and letter.faulty:
            return letter


@pytest.mark.timeout(240)
def test_whole_replicas_are_not_given_up_and_it_is_said_what_would_be_lost(fleet, tmp_path, log_in):
    servers, leader = in_segments(fleet, tmp_path, log_in, OFTEN)
    name, other = (it for it in NAMES if it != leader)
    servers[other].kill()  # so what is lost at `name` can't be given back
    raw, api = connected(servers[leader], log_in)
    with raw:
        until(lambda: is_silent(api, other))
    flip_message(tmp_path / f"{OURS}-{name}", 7)
    lost = {"account": "APP", "stream": "S", "lost": [[8, 8]]}
    until(lambda: faulty_at(servers[name]) == [lost])
    assert "(sequences 8)" in health(servers[name])

    decides = until(lambda: meta(servers[leader]).get("leader"))
    with RawClient(servers[decides].port, timeout_s=10.0) as raw:
        system = log_in(raw, user="sys", **{"pass": "x"})
        said = hello_of_faulty(system, system.subscribe(ALL))
        assert list(said.lost.values()) == [((8, 8),)]
        assert set(said.lost) <= set(said.faulty)
        removed = Api(system)("SERVER.REMOVE", json.dumps({"peer": other}).encode())
    refusal = removed["error"]["description"]
    assert f"something of APP > S is lost at {name} (sequences 8)" in refusal
    assert f"what {other} has of it could be lost with it" in refusal

    servers[other] = fleet.restart(servers[other])
    until(lambda: not faulty_at(servers[name]))
    until(lambda: not health(servers[name]))
