"""What waits in a stream in files is there after any end of the server: batches and schedules."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from framework.testing.server_process import ServerProcess

pytestmark = pytest.mark.interop

PLUGIN = ("-plugin", "framework_jetstream.plugin")
ENDS = [ServerProcess.kill, ServerProcess.stop]


@pytest.fixture
def lives(fleet, tmp_path):
    def start():
        return fleet.start("-js", "-sd", str(tmp_path / "store"), *PLUGIN)

    return start


def in_batch(seq, *more):
    return [("Nats-Batch-Id", "b"), ("Nats-Batch-Sequence", str(seq)), *more]


@pytest.mark.parametrize("end", ENDS)
def test_a_batch_goes_on_behind_a_restart(lives, log_in, end):
    server = lives()
    with server.client() as client:
        ask = log_in(client)
        config = {"name": "S", "subjects": ["s.>"], "allow_atomic": True}
        config["subject_transform"] = {"src": "s.*", "dest": "s.new.{{wildcard(1)}}"}
        ask.api("STREAM.CREATE.S", config)
        for seq in (1, 2):
            assert ask.ask("s.a", b"%d" % seq, in_batch(seq)) == (b"", b"")
    end(server)

    with lives().client() as client:
        ask = log_in(client)
        before = ask.api("STREAM.INFO.S")["state"]["messages"]
        stored = json.loads(ask.ask("s.a", b"3", in_batch(3, ("Nats-Batch-Commit", "1")))[1])
        state = ask.api("STREAM.INFO.S", {"subjects_filter": ">"})["state"]

    assert before == 0
    assert stored == {"stream": "S", "seq": 3, "batch": "b", "count": 3}
    assert state["subjects"] == {"s.new.a": 3}


@pytest.mark.parametrize("end", ENDS)
def test_a_schedule_fires_behind_a_restart(lives, log_in, end):
    server = lives()
    soon = (datetime.now(UTC) + timedelta(seconds=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    with server.client() as client:
        ask = log_in(client)
        config = {"name": "S", "subjects": ["s.>"], "allow_msg_schedules": True}
        config["republish"] = {"src": "s.>", "dest": "re.>"}
        ask.api("STREAM.CREATE.S", config)
        headers = [("Nats-Schedule", f"@at {soon}"), ("Nats-Schedule-Target", "s.target")]
        assert json.loads(ask.ask("s.a", b"later", headers)[1])["seq"] == 1
    end(server)

    with lives().client() as client:
        ask = log_in(client)
        key = ask.subscribe("re.>")
        state = ask.api("STREAM.INFO.S", {"subjects_filter": ">"})["state"]
        if "s.target" not in state["subjects"]:  # it may have fired while the server began
            assert ask.heard_with_subject(key)[0] == b"re.target"
        state = ask.api("STREAM.INFO.S", {"subjects_filter": ">"})["state"]

    assert state["subjects"] == {"s.target": 1}


@pytest.mark.parametrize("end", ENDS)
def test_counters_go_on_behind_a_restart(lives, log_in, end):
    server = lives()
    with server.client() as client:
        ask = log_in(client)
        config = {"name": "S", "subjects": ["s.>"], "allow_msg_counter": True}
        ask.api("STREAM.CREATE.S", config)
        ask.ask("s.a", b"", [("Nats-Incr", "+41")])
    end(server)

    with lives().client() as client:
        stored = json.loads(log_in(client).ask("s.a", b"", [("Nats-Incr", "+1")])[1])

    assert stored == {"stream": "S", "seq": 2, "val": "42"}
