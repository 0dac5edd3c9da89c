"""A store that was copied while its server ran, and is put back later: what it lacks comes back."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from shared_clusters import NAMES, connected, meta, start, until
from test_shared_damage import (
    CONSUMER,
    STREAM,
    are_current,
    contents,
    health,
    lead,
    leader_of,
    told,
)

from framework.testing import OURS

BEFORE = 40
BETWEEN = 50
"""Messages before the copy, and behind it."""

pytestmark = pytest.mark.interop


def publish(api, numbers):
    for number in numbers:
        payload = b"%d " % number + b"x" * (number * 37 % 900)
        until(lambda payload=payload: "seq" in told(api, payload))


def messages_at(server):
    """Return how many messages the streams have that are at a server, as it knows itself."""
    told_of = server.document("/jsz?streams=1&accounts=1")
    return {
        it["name"]: it["state"]["messages"]
        for account in told_of.get("account_details") or ()
        for it in account.get("stream_detail") or ()
    }


@pytest.fixture
def copied(fleet, tmp_path, log_in):
    """Return servers, who leads their stream, whose store was copied, and all that there is.

    That one leads nothing: so those stay who know what it has acknowledged.
    """
    servers = start(fleet, tmp_path)
    raw, api = connected(servers["n1"], log_in)
    with raw:
        assert "config" in api("STREAM.CREATE.S", json.dumps(STREAM).encode())
        wanted = {"stream_name": "S", "config": CONSUMER}
        until(lambda: "config" in api("CONSUMER.DURABLE.CREATE.S.C", json.dumps(wanted).encode()))
        publish(api, range(BEFORE))
        until(lambda: are_current(api))
        leader = leader_of(api)
    name = next(it for it in NAMES if it not in {leader, meta(servers["n1"])["leader"]})
    subprocess.run(["cp", "-a", tmp_path / f"{OURS}-{name}", tmp_path / "copy"], check=True)
    raw, api = connected(servers[leader], log_in)
    with raw:
        publish(api, range(BEFORE, BEFORE + BETWEEN))
        # Made behind the copy: the server had it, and does not know that.
        more = {**STREAM, "name": "LATER", "subjects": ["later.>"]}
        assert "config" in api("STREAM.CREATE.LATER", json.dumps(more).encode())
        until(lambda: "seq" in json.loads(api.requests.ask("later.a", b"1")[1] or b"{}"))
        until(lambda: are_current(api))
        return servers, leader, name, contents(api)


@pytest.mark.timeout(120)
def test_a_copied_store_gets_what_it_lacks(fleet, copied, tmp_path, log_in):
    servers, leader, name, before = copied
    store, copy = tmp_path / f"{OURS}-{name}", tmp_path / "copy"
    servers[name].kill()
    shutil.rmtree(store)
    copy.rename(store)
    servers[name] = fleet.restart(servers[name])

    raw, api = connected(servers[leader], log_in)
    with raw:
        until(lambda: "seq" in told(api, b"after"))
        for what in ("stream S of account APP", "the meta group"):
            servers[name].wait_log(f"something of {what} is lost here")
        until(lambda: messages_at(servers[name]) == {"S": len(before) + 1, "LATER": 1})
        until(lambda: not health(servers[name]))
        until(lambda: are_current(api))
        lead(api, name)
        after = contents(api)
    assert {seq: after.get(seq) for seq in before} == before

    other = next(it for it in NAMES if it not in {name, leader})
    servers[other].kill()  # what is acknowledged now rests on the one that was put back
    raw, api = connected(servers[name], log_in)
    with raw:
        until(lambda: told(api, b"last").get("seq"))
        info = api("CONSUMER.INFO.S.C")
        later = until(lambda: api("STREAM.INFO.LATER").get("state"))
    assert info["name"] == "C"
    assert later["messages"] == 1
