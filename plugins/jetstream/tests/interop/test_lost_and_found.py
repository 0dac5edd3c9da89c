"""What is on a server and not assigned to it is set aside, and comes back by the `nats` CLI."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import shared_clusters
from shared_clusters import NAMES, connected, meta, start, until
from shared_streams import fill, is_whole, led_by, stored, told

from framework.testing import OURS, NatsCli

EAGER = str(Path(__file__).with_name("eager_meta.py"))
FULL = str(Path(__file__).with_name("full_lost_and_found.py"))
MORE = 12
"""Changes of another stream: so many entries are not kept one by one."""
KEY = "a key of thirty-two characters.."
MESSAGES = 30
NOT_THERE = 10059
"""Stream not found."""

pytestmark = [pytest.mark.interop, pytest.mark.timeout(50), pytest.mark.peer("nats")]


@pytest.fixture
def eager(monkeypatch):
    """Let all servers keep the state of the meta group after a few entries."""
    plugins = (*shared_clusters.PLUGIN, "-plugin", EAGER)
    monkeypatch.setattr(shared_clusters, "PLUGIN", plugins)


@pytest.fixture
def sealed(monkeypatch):
    """Let all servers have a key."""
    config = shared_clusters.CONFIG.replace("{{ store_dir", f'{{{{ key: "{KEY}", store_dir', 1)
    monkeypatch.setattr(shared_clusters, "CONFIG", config)


def miss_deletion(servers, log_in, *, again=False, replicas=3):
    """Delete a stream while a server is away, for so long that it never hears of that.

    Returns:
        The server's name, and all that is known of the stream; `again`: another one has its name.
    """
    raw, api = connected(servers["n1"], log_in)
    with raw:
        consumers = fill(api, "S", num_replicas=replicas, keep_one=False)
        change(api, "T", num_replicas=3, word="CREATE")
        until(lambda: is_whole(api, "S", replicas))
        before = told(api, "S", consumers)
        leader = meta(servers["n1"])["leader"]
        name = led_by(api, "STREAM", "S")
    if replicas > 1:
        name = next(it for it in NAMES if it != leader)
    leader = next(it for it in NAMES if it != name)
    servers[name].kill()
    raw, api = connected(servers[leader], log_in)
    with raw:
        until(lambda: is_deleted(api, "S"))
        for number in range(MORE):
            change(api, "T", description=f"change {number}", num_replicas=3)
        if again:
            change(api, "S", num_replicas=3, word="CREATE")
            stored(api, "S.1", b"of another one", 1)
    return name, before, consumers


def change(api, name, *, word="UPDATE", **more):
    wanted = json.dumps({"name": name, "subjects": [f"{name}.>"], **more}).encode()
    until(lambda: "config" in api(f"STREAM.{word}.{name}", wanted))


def is_deleted(api, name):
    """Delete a stream; return whether there is none: who led it may not have answered."""
    said = api(f"STREAM.DELETE.{name}")
    return said.get("success") or said["error"]["err_code"] == NOT_THERE


def store_of(tmp_path, name):
    return tmp_path / f"{OURS}-{name}" / "jetstream"


def lost(store, *words):
    """Return what `framework jetstream lost` says."""
    command = [sys.executable, "-m", "framework", "jetstream", "lost", str(store), *words]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, env={**os.environ, "JS_KEY": KEY}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def reasons(store):
    """Return the reasons of all that is set aside."""
    return [json.loads(it.read_bytes()) for it in sorted(store.glob("lost+found/*/reason.json"))]


def restore(server, tmp_path, log_in, command):
    """Run the command that is told, when somebody answers for streams."""
    raw, api = connected(server, log_in)
    with raw:
        assert api("STREAM.INFO.S")["error"]["err_code"] == NOT_THERE
    NatsCli(tmp_path).run(server.url, *command[1:], "--no-progress")


def assert_is(found, before):
    """Look at a stream that was set aside by a server that did not lead it.

    Of its consumers that server had heard a little later what was delivered and acknowledged.
    """
    assert found[:3] == before[:3]
    for name, it in before[3].items():
        there = found[3][name]
        assert there["config"] == it["config"]
        assert there["ack_floor"]["stream_seq"] <= it["ack_floor"]["stream_seq"]


def found_at(server, what="What this server had of it is in"):
    """Wait until a server says what has become of it."""
    server.wait_log(what)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("replicas", [1, 3])
def test_a_stream_that_is_not_assigned_is_set_aside_and_restored(fleet, tmp_path, log_in, replicas):
    servers = start(fleet, tmp_path)
    name, before, consumers = miss_deletion(servers, log_in, replicas=replicas)
    store = store_of(tmp_path, name)
    left_undone = store / "lost+found" / "S-left.part"
    left_undone.mkdir(parents=True)
    servers[name] = fleet.restart(servers[name])
    found_at(servers[name])
    [reason] = reasons(store)
    assert (reason["account"], reason["stream"]) == ("APP", "S")
    assert reason["last_seq"] == MESSAGES
    assert reason["consumers"] == sorted(consumers)
    assert reason["is_whole"]

    # The last line is the command: OPERATING.md tells people to run it.
    command = lost(store.parent).splitlines()[-1].split()
    assert command[:3] == ["nats", "stream", "restore"]
    restore(servers["n1"], tmp_path, log_in, command)
    raw, api = connected(servers[name], log_in)
    with raw:
        until(lambda: is_whole(api, "S", replicas))
        assert_is(told(api, "S", consumers), before)


@pytest.mark.usefixtures("eager")
def test_another_stream_of_its_name_is_served_then(fleet, tmp_path, log_in):
    servers = start(fleet, tmp_path)
    name, _, _ = miss_deletion(servers, log_in, again=True)
    servers[name] = fleet.restart(servers[name])
    found_at(servers[name])
    raw, api = connected(servers[name], log_in)
    with raw:
        until(lambda: is_whole(api, "S", 3))
        assert api("STREAM.INFO.S")["state"]["messages"] == 1
    [reason] = reasons(store_of(tmp_path, name))
    assert reason["messages"] > 1


@pytest.mark.usefixtures("eager")
def test_what_is_set_aside_before_a_stop_is_there_once(fleet, tmp_path, log_in):
    servers = start(fleet, tmp_path)
    name, _, _ = miss_deletion(servers, log_in)
    store = store_of(tmp_path, name)
    shutil.copytree(store / "log", tmp_path / "log")
    servers[name] = fleet.restart(servers[name])
    found_at(servers[name])
    servers[name].kill()
    # As if it had stopped before the stream was closed.
    shutil.rmtree(store / "log")
    shutil.copytree(tmp_path / "log", store / "log")
    servers[name] = fleet.restart(servers[name])
    found_at(servers[name])
    assert len(reasons(store)) == 1


@pytest.mark.usefixtures("eager")
def test_a_stream_that_can_not_be_set_aside_stays(fleet, tmp_path, log_in):
    servers = start(fleet, tmp_path)
    name, _, _ = miss_deletion(servers, log_in)
    store = store_of(tmp_path, name)
    (store / "lost+found").touch()  # it can't be a folder
    servers[name] = fleet.restart(servers[name])
    found_at(servers[name], "stays in the log, since it can't be written to")
    servers[name].kill()
    (store / "lost+found").unlink()
    servers[name] = fleet.restart(servers[name])
    found_at(servers[name])
    [reason] = reasons(store)
    assert reason["last_seq"] == MESSAGES


@pytest.fixture
def full(monkeypatch):
    """Let all servers have no room for an archive at first."""
    plugins = (*shared_clusters.PLUGIN, "-plugin", EAGER, "-plugin", FULL)
    monkeypatch.setattr(shared_clusters, "PLUGIN", plugins)


@pytest.mark.usefixtures("full")
def test_a_stream_stays_until_the_disk_has_room(fleet, tmp_path, log_in):
    servers = start(fleet, tmp_path)
    name, _, _ = miss_deletion(servers, log_in)
    store = store_of(tmp_path, name)
    servers[name] = fleet.restart(servers[name])
    found_at(servers[name], "stays in the log, since .*No space left on device")
    found_at(servers[name])
    [reason] = reasons(store)
    assert reason["last_seq"] == MESSAGES
    assert len(list((store / "lost+found").iterdir())) == 1


@pytest.mark.usefixtures("eager", "sealed")
def test_with_a_key_it_is_sealed(fleet, tmp_path, log_in):
    servers = start(fleet, tmp_path)
    name, before, consumers = miss_deletion(servers, log_in)
    store = store_of(tmp_path, name)
    servers[name] = fleet.restart(servers[name])
    found_at(servers[name])
    stored_bytes = b"".join(it.read_bytes() for it in store.glob("lost+found/*/*"))
    assert b"APP" not in stored_bytes

    assert "--key-from is needed" in lost(store)
    copy = tmp_path / "copy"
    command = lost(store, "--key-from", "JS_KEY", "--to", str(copy)).splitlines()[-1].split()
    restore(servers["n1"], tmp_path, log_in, command)
    raw, api = connected(servers["n1"], log_in)
    with raw:
        until(lambda: is_whole(api, "S", 3))
        assert_is(told(api, "S", consumers), before)
