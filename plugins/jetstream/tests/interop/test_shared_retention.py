"""Streams of several servers that keep what somebody needs: work queues, and streams with interest.

One cluster of ours, and a real one beside it, for all tests but the one that kills servers.
"""

from __future__ import annotations

import json
from contextlib import ExitStack

import pytest

from plugins.jetstream.tests.interop import shared_clusters as shared

pytestmark = [pytest.mark.interop, pytest.mark.timeout(60)]

NAMES = shared.NAMES


@pytest.fixture
def connect(log_in):
    """Return a function that returns the API as a client of a server has it."""
    with ExitStack() as stack:

        def go(server):
            raw, api = shared.connected(server, log_in)
            stack.callback(raw.close)
            return api

        yield go


def make(api, name, retention, **more):
    wanted = {"name": name, "subjects": [f"{name}.>"], "num_replicas": 3, "retention": retention}

    def made():
        """Return what was made; a real cluster does not know all its servers at once."""
        said = api(f"STREAM.CREATE.{name}", {**wanted, **more})
        return said if said.get("error", {}).get("err_code") != 10005 else None

    found = shared.until(made)
    assert found.get("did_create"), found
    return found["config"]


def consumer(api, stream, name, **more):
    config = {"durable_name": name, "name": name, "ack_policy": "explicit", **more}
    said = api(f"CONSUMER.CREATE.{stream}.{name}", {"stream_name": stream, "config": config})
    assert "error" not in said, said
    return said


def publish(api, subject, numbers):
    """Store messages, which are their numbers."""
    for number in numbers:
        shared.until(lambda at=number: _published(api, subject, at))


def _published(api, subject, number):
    headers = [("Nats-Msg-Id", f"{subject} {number}")]
    try:
        said = api.requests.ask(subject, b"%d" % number, headers)[1]
    except TimeoutError:
        return None
    return json.loads(said or b"{}").get("seq")


def take(api, stream, name, count):
    """Return so many messages, as soon as there are: where each is acknowledged, and its number."""
    found = {}
    while len(found) < count:
        got = api.requests.fetch(stream, name, count - len(found))
        found |= {to: int(body.rpartition(b"\r\n\r\n")[2]) for _, to, body in got if to}
    return found


def acknowledge(api, replies):
    """Acknowledge messages, and wait until each is known to be."""
    for reply in replies:
        api.requests.ask(reply.decode(), b"+ACK")


def states(cluster, name):
    """Return messages, first and last sequence of a stream as each server has it."""
    found = set()
    for server in cluster.values():
        document = server.document("/jsz?accounts=1&streams=1")
        details = [
            it
            for account in document.get("account_details") or ()
            for it in account.get("stream_detail") or ()
            if it["name"] == name
        ]
        state = details[0]["state"] if details else {}
        found.add(tuple(state.get(it) for it in ("messages", "first_seq", "last_seq")))
    return found


def settles(cluster, name, messages, first, last):
    """Wait until a stream has that many messages, from and to sequences, at all servers."""
    shared.until(lambda: states(cluster, name) == {(messages, first, last)})


def leads_elsewhere(api, stream, name):
    """Let the consumer be led by another server than its stream."""

    def leaders():
        of_stream = api(f"STREAM.INFO.{stream}")["cluster"].get("leader")
        of_consumer = api(f"CONSUMER.INFO.{stream}.{name}").get("cluster", {}).get("leader")
        return of_stream, of_consumer

    def moved():
        of_stream, of_consumer = leaders()
        if of_stream == of_consumer or not of_consumer:
            api(f"CONSUMER.LEADER.STEPDOWN.{stream}.{name}")
            return False
        return True

    shared.until(moved)


@pytest.mark.parametrize("storage", ["file", "memory"])
def test_a_work_queue_loses_what_was_acknowledged_at_all_servers(cluster, connect, storage):
    api, other = connect(cluster["n1"]), connect(cluster["n3"])
    make(api, "WQ", "workqueue", storage=storage)
    publish(api, "WQ.a", range(10))
    publish(other, "WQ.b", range(5))
    consumer(other, "WQ", "A", filter_subject="WQ.a")
    refused = api("CONSUMER.CREATE.WQ.B", {"stream_name": "WQ", "config": {"name": "B"}})
    unlike = {"name": "C", "durable_name": "C", "ack_policy": "explicit", "num_replicas": 1}
    unlike |= {"filter_subject": "WQ.b"}
    one = api("CONSUMER.CREATE.WQ.C", {"stream_name": "WQ", "config": unlike})

    assert refused["error"]["err_code"] in {10099, 10100, 10084}
    assert one["error"]["err_code"] == 10134
    got = take(api, "WQ", "A", 8)
    assert sorted(got.values()) == list(range(8))
    acknowledge(api, [reply for reply, number in got.items() if number not in {0, 5}])
    settles(cluster, "WQ", 9, 1, 15)
    leads_elsewhere(api, "WQ", "A")
    acknowledge(api, [reply for reply, number in got.items() if number == 5])
    settles(cluster, "WQ", 8, 1, 15)
    # What is nobody's stays, also when the consumer that was there goes.
    assert api("CONSUMER.DELETE.WQ.A")["success"]
    consumer(api, "WQ", "B", filter_subject="WQ.b")
    acknowledge(api, take(api, "WQ", "B", 5))
    settles(cluster, "WQ", 3, 1, 15)
    assert api("STREAM.DELETE.WQ")["success"]


def test_messages_stay_while_somebody_is_interested(cluster, connect):
    api, other = connect(cluster["n2"]), connect(cluster["n1"])
    make(api, "IN", "interest")
    publish(api, "IN.a", range(3))
    settles(cluster, "IN", 0, 4, 3)
    consumer(api, "IN", "ALL")
    consumer(other, "IN", "A", filter_subject="IN.a")
    consumer(other, "IN", "NONE", ack_policy="none", filter_subject="IN.a")
    publish(api, "IN.a", range(3, 9))
    publish(other, "IN.b", range(2))
    got, got_by_a = take(other, "IN", "ALL", 8), take(api, "IN", "A", 4)

    assert sorted(got_by_a.values()) == [3, 4, 5, 6]
    assert len(take(api, "IN", "NONE", 6)) == 6
    acknowledge(api, got)
    settles(cluster, "IN", 6, 4, 11)
    acknowledge(api, [reply for reply, number in got_by_a.items() if number in {3, 5}])
    settles(cluster, "IN", 4, 5, 11)
    for each in ("ALL", "A"):
        leads_elsewhere(api, "IN", each)
    publish(api, "IN.a", [9])
    acknowledge(api, take(api, "IN", "ALL", 1))
    acknowledge(api, [reply for reply, number in got_by_a.items() if number == 4])
    take(api, "IN", "NONE", 1)
    settles(cluster, "IN", 4, 7, 12)
    # Who goes needs nothing any more.
    assert other("CONSUMER.DELETE.IN.A")["success"]
    settles(cluster, "IN", 0, 13, 12)
    assert api("STREAM.DELETE.IN")["success"]


def test_a_stream_with_limits_becomes_one_with_interest(cluster, connect):
    api = connect(cluster["n3"])
    config = make(api, "LI", "limits")
    publish(api, "LI.a", range(6))
    consumer(api, "LI", "A")
    acknowledge(api, take(api, "LI", "A", 2))
    settles(cluster, "LI", 6, 1, 6)
    changed = api("STREAM.UPDATE.LI", {**config, "retention": "interest"})
    to_queue = api("STREAM.UPDATE.LI", {**config, "retention": "workqueue"})

    assert changed["config"]["retention"] == "interest"
    assert to_queue["error"]["err_code"] == 10052
    settles(cluster, "LI", 4, 3, 6)
    acknowledge(api, take(api, "LI", "A", 3))
    settles(cluster, "LI", 1, 6, 6)
    back = api("STREAM.UPDATE.LI", {**config, "retention": "limits"})
    assert back["config"]["retention"] == "limits"
    acknowledge(api, take(api, "LI", "A", 1))
    publish(api, "LI.a", [7])
    settles(cluster, "LI", 2, 6, 7)
    assert api("STREAM.DELETE.LI")["success"]


def work_off(api, stream, name, wanted, *, seen):
    """Take and acknowledge what comes, until all wanted numbers were seen."""
    while not wanted <= seen:
        try:
            got = api.requests.fetch(stream, name, 20)
            rows = {to: int(body.rpartition(b"\r\n\r\n")[2]) for _, to, body in got if to}
            for reply, number in rows.items():
                api.requests.ask(reply.decode(), b"+ACK")
                seen.add(number)
        except TimeoutError:
            continue


@pytest.mark.timeout(120)
def test_nothing_is_lost_or_kept_where_leaders_are_killed(fleet, tmp_path, connect):
    servers = shared.start(fleet, tmp_path)
    api = connect(servers["n1"])
    make(api, "WQ", "workqueue")
    make(api, "IN", "interest")
    consumer(api, "WQ", "A", ack_wait=10**9)
    consumer(api, "IN", "A", ack_wait=10**9)
    consumer(api, "IN", "B", ack_wait=10**9)
    wanted, done = set(range(60)), {it: set() for it in ("WQ A", "IN A", "IN B")}
    publish(api, "WQ.a", range(40))
    publish(api, "IN.a", range(40))
    for each, numbers in done.items():
        work_off(api, *each.split(), set(range(10)), seen=numbers)
        take(api, *each.split(), 5)
    killed = api("STREAM.INFO.IN")["cluster"]["leader"]
    servers[killed].kill()
    left = {it: server for it, server in servers.items() if it != killed}
    api = connect(next(iter(left.values())))
    publish(api, "WQ.a", range(40, 60))
    publish(api, "IN.a", range(40, 60))
    for each in ("WQ A", "IN A"):
        work_off(api, *each.split(), wanted, seen=done[each])
    settles(left, "WQ", 0, 61, 60)

    assert all(state[0] >= len(wanted - done["IN B"]) for state in states(left, "IN"))
    again = {**left, killed: fleet.restart(servers[killed])}
    settles(again, "WQ", 0, 61, 60)
    # Who has not been there, and all servers at once.
    work_off(api, "IN", "B", set(range(50)), seen=done["IN B"])
    for server in again.values():
        server.kill()
    again = {name: fleet.restart(server) for name, server in again.items()}
    api = connect(again[killed])
    work_off(api, "IN", "B", wanted, seen=done["IN B"])
    settles(again, "IN", 0, 61, 60)
    assert api("STREAM.INFO.WQ")["state"]["messages"] == 0
