"""A server of three makes something else of the same entries: who leads finds it, and says so."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from framework.testing import OURS
from plugins.jetstream.tests.interop.shared_clusters import connected, start, until
from plugins.jetstream.tests.interop.test_shared_damage import health, lead

OTHERWISE = ("-plugin", str(Path(__file__).with_name("deciding_otherwise.py")))
STREAM = {"name": "S", "subjects": ["s.>"], "num_replicas": 3, "max_msgs": 5}
MESSAGES = 8

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


def test_who_leads_says_which_server_has_come_to_differ(fleet, tmp_path, log_in):
    servers = start(fleet, tmp_path, flags=OTHERWISE)
    raw, api = connected(servers["n1"], log_in)
    with raw:
        assert "config" in api("STREAM.CREATE.S", json.dumps(STREAM).encode())
        lead(api, "n1")
        publish(api)

        said = "stream S of account APP has come to differ at server n3 from what it is here"
        servers["n1"].wait_log(said)
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
        assert servers["n1"].log().count(said) == 2
    servers["n3"].kill()
    shutil.rmtree(tmp_path / f"{OURS}-n3")
    servers["n3"] = fleet.restart(servers["n3"])
    until(lambda: not health(servers["n1"]))
    assert not differing(servers["n1"])
