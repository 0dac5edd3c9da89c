"""A server of three makes something else of the same entries: who leads finds it, and says so."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

import pytest

from framework.testing import OURS
from plugins.jetstream.tests.interop.shared_clusters import connected, start, until
from plugins.jetstream.tests.interop.test_shared_damage import are_current, health, lead, leader_of

OTHERWISE = ("-plugin", str(Path(__file__).with_name("deciding_otherwise.py")))
KEPT = 5
STREAM = {"name": "S", "subjects": ["s.>"], "num_replicas": 3, "max_msgs": KEPT}
MESSAGES = 8
SAID = "stream S of account APP has come to differ at server n3 from what it is here"
BEGINS_ANEW = "stream S of account APP has come to differ here from what most servers have"
WELL = "well"
"""A file beside the stores, with which all decide the same."""

pytestmark = [pytest.mark.interop, pytest.mark.timeout(120)]


@pytest.fixture(autouse=True)
def nothing_differs():
    """Something does here."""


def differing(server):
    """Return at which servers the stream has come to differ, as one says that leads it."""
    [account] = server.document("/jsz?acc=APP&streams=true")["account_details"]
    [stream] = account["stream_detail"]
    return stream["cluster"].get("differing", [])


def publish(api):
    for number in range(MESSAGES):
        assert "seq" in json.loads(api.requests.ask("s.a", b"%d" % number)[1])


def kept(api):
    """Return what who leads the stream has, in its order."""
    state = until(lambda: api("STREAM.INFO.S").get("state"))
    asked = [{"seq": it} for it in range(state["first_seq"], state["last_seq"] + 1)]
    found = [api("STREAM.MSG.GET.S", json.dumps(it).encode())["message"] for it in asked]
    return [int(base64.b64decode(it["data"])) for it in found]


def has_come_to_differ(api, servers, name):
    """Create a stream, led by a server, of which n3 makes something else."""
    assert "config" in api("STREAM.CREATE.S", json.dumps(STREAM).encode())
    lead(api, name)
    publish(api)
    servers["n3"].wait_log(BEGINS_ANEW)


def test_who_differs_begins_anew_once_and_then_it_is_said(fleet, tmp_path, log_in):
    servers = start(fleet, tmp_path, flags=OTHERWISE)
    raw, api = connected(servers["n1"], log_in)
    with raw:
        has_come_to_differ(api, servers, "n1")
        # It gets the same entries, and makes of them what it has made before.
        servers["n1"].wait_log(SAID, count=2)
        until(lambda: differing(servers["n1"]) == ["n3"])
        assert "'APP > S' has come to differ" in health(servers["n1"])
        assert "n3" in health(servers["n1"])
        assert not differing(servers["n2"])
        assert not health(servers["n2"])

        lead(api, "n3")
        until(lambda: differing(servers["n3"]) == ["n1", "n2"])
        until(lambda: not differing(servers["n1"]))
        assert not health(servers["n1"])
        lead(api, "n1")
        until(lambda: differing(servers["n1"]) == ["n3"])
        assert servers["n1"].log().count(SAID) == 3
        assert servers["n3"].log().count(BEGINS_ANEW) == 1
        assert servers["n3"].document("/jsz")["begun_anew"] == 1
        assert "begun_anew" not in servers["n1"].document("/jsz")

        (tmp_path / WELL).touch()
        servers["n3"].kill()
        shutil.rmtree(tmp_path / f"{OURS}-n3")
        servers["n3"] = fleet.restart(servers["n3"])
        until(lambda: not any(differing(it) or health(it) for it in servers.values()))
        lead(api, "n3")
        assert kept(api) == list(range(MESSAGES))[-KEPT:]
        for server in servers.values():
            assert not differing(server)


def test_a_leader_that_differs_from_most_hands_over_and_begins_anew(fleet, tmp_path, log_in):
    servers = start(fleet, tmp_path, flags=OTHERWISE)
    raw, api = connected(servers["n1"], log_in)
    with raw:
        has_come_to_differ(api, servers, "n3")
        until(lambda: leader_of(api) in {"n1", "n2"})
        assert kept(api) == list(range(MESSAGES))[-KEPT:]
        until(lambda: are_current(api))
        until(lambda: not health(servers["n3"]))
        assert servers["n3"].log().count(BEGINS_ANEW) == 1
