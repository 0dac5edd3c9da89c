"""Advisories beside the real server's: the same steps lead to the same events."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.interop

CONFIG = """
jetstream { store_dir: "%s", max_mem: 1G, max_file: 1G %s }
accounts {
  A { jetstream: enabled, users: [{ user: a, password: a }] }
  SYS { users: [{ user: sys, password: sys }] }
}
system_account: SYS
"""
STREAM = {"name": "S", "subjects": ["s"], "storage": "memory"}
_VARYING = {"id", "timestamp", "time", "ts", "created", "start", "server", "host", "rtt", "stop"}


class Listener:
    """A client that hears all events of its account."""

    def __init__(self, client):
        self._client = client
        client.log_in(user="a", **{"pass": "a"})
        client.send(b"SUB $JS.EVENT.> 1\r\n")
        client.flush()

    def hear(self, subject):
        """Return subject and event of the next one whose subject begins so; audits are left out."""
        while True:
            operation = self._client.read()
            if operation.verb == b"MSG" and operation.subject.startswith(subject):
                return operation.subject.decode(), json.loads(operation.body)


def same(document):
    if isinstance(document, dict):
        return {name: same(it) for name, it in document.items() if name not in _VARYING}
    return document


@pytest.fixture(params=["", ", domain: hub"])
def servers(request, fleet, tmp_path):
    plugin = ("-plugin", "framework_jetstream.plugin")
    ours = fleet.start(*plugin, config=CONFIG % (tmp_path / "ours", request.param))
    real = fleet.start(config=CONFIG % (tmp_path / "real", request.param), kind="2.15.2")
    return ours, real


@pytest.fixture
def play(servers, log_in):
    """Return what both servers' listeners hear of what is done, one event a subject."""

    def go(steps, subjects):
        heard = []
        for server in servers:
            with server.client() as one, server.client() as other:
                listener, user = Listener(one), log_in(other, user="a", **{"pass": "a"})
                steps(user)
                heard.append([listener.hear(subject) for subject in subjects])
        return heard

    return go


def test_streams_and_consumers_come_change_and_go(play):
    def steps(user):
        user.api("STREAM.CREATE.S", STREAM)
        user.api("STREAM.UPDATE.S", {**STREAM, "max_msgs": 5})
        user.api("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": {"durable_name": "C"}})
        user.api("CONSUMER.DELETE.S.C")
        user.api("STREAM.DELETE.S")

    words = ["STREAM.CREATED", "STREAM.UPDATED", "CONSUMER.CREATED", "CONSUMER.DELETED"]
    subjects = [f"$JS.EVENT.ADVISORY.{it}".encode() for it in (*words, "STREAM.DELETED")]
    ours, theirs = play(steps, subjects)

    assert same(dict(theirs)) == same(dict(ours))
    assert all(len(event["id"]) == 22 for _, event in ours)


@pytest.mark.parametrize("word", [b"-NAK", b"+TERM", b'+TERM  bad "one" '])
def test_messages_that_a_client_could_not_use(play, word):
    def steps(user):
        user.api("STREAM.CREATE.S", STREAM)
        consumer = {"durable_name": "C", "ack_policy": "explicit"}
        user.api("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": consumer})
        user.ask("s", b"x")
        user.ask("s", b"y")
        (_, first, _), (_, second, _) = user.fetch("S", "C", 2)
        user.ask(second.decode(), word)
        user.ask(first.decode(), b"+ACK")
        user.ask(second.decode(), b"+ACK")

    ours, theirs = play(steps, [b"$JS.EVENT.ADVISORY.CONSUMER.MSG_"])

    assert same(dict(theirs)) == same(dict(ours))


def test_each_request_is_audited(play):
    def steps(user):
        user.api("STREAM.CREATE.S", STREAM)
        user.api("STREAM.NAMES", {"offset": 0})
        user.api("STREAM.INFO.no")
        user.api("STREAM.LEADER.STEPDOWN.S")

    ours, theirs = play(steps, [b"$JS.EVENT.ADVISORY.API"] * 4)
    for events in (ours, theirs):
        for _, event in events:
            response = json.loads(event["response"])
            event["response"] = same(response)
            # What each says of its own clients differs in the order of names alone.
            event["client"] = {name: event["client"][name] for name in ("acc", "user", "kind")}

    assert [same(it) for _, it in theirs] == [same(it) for _, it in ours]
