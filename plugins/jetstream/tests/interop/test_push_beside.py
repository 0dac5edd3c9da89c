"""Consumers that push beside the real server's: flow control, heartbeats, a pause."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.interop

STREAM = {"name": "S", "subjects": ["s.>"], "storage": "memory"}
PUSH = {
    "name": "C",
    "deliver_subject": "d",
    "ack_policy": "explicit",
    "max_ack_pending": 1000,
    "inactive_threshold": 600_000_000_000,
}
FLOW = {**PUSH, "flow_control": True, "idle_heartbeat": 200_000_000}
KIB = 1024


class Receiver:
    """Listens where a consumer pushes, and says in words what comes."""

    def __init__(self, client):
        self._client = client
        client.log_in()
        client.send(b"SUB d 1\r\nPING\r\n")
        while client.read().verb != b"PONG":
            pass

    def send(self, subject, headers=b""):
        """Publish an answer."""
        if headers:
            block = b"NATS/1.0\r\n" + headers + b"\r\n\r\n"
            size = len(block)
            self._client.send(b"HPUB %s %d %d\r\n%s\r\n" % (subject, size, size, block))
        else:
            self._client.send(b"PUB %s 0\r\n\r\n" % subject)

    def next_message(self):
        """Return the next message, whatever is said before it."""
        words = self.next()[0]
        return words if words.startswith("message") else self.next_message()

    def next(self):
        """Return what comes next, as words, and where an answer to it goes."""
        while True:
            operation = self._client.read()
            if operation.verb not in {b"MSG", b"HMSG"}:
                continue
            words = operation.line.split()
            if operation.verb == b"MSG":
                return f"message {words[3].split(b'.')[5].decode()}", words[3]
            head = operation.body.split(b"\r\n")
            fields = dict(line.split(b": ", 1) for line in head[1:] if b": " in line)
            stalled = fields.pop(b"Nats-Consumer-Stalled", b"")
            told = [name.decode() + " " + value.decode() for name, value in fields.items()]
            reply = words[3] if len(words) == 6 else stalled
            return "; ".join([head[0].decode(), *told, *(["stalled"] if stalled else [])]), reply


@pytest.fixture
def receivers(fleet, tmp_path, log_in):
    """Return (asking client, receiver) of ours and of a real one, each with a stream `S`."""
    ours = fleet.start(
        "-js", "-sd", str(tmp_path / "ours"), "-plugin", "framework_jetstream.plugin"
    )
    real = fleet.start("-js", "-sd", str(tmp_path / "real"), kind="2.15.2")
    with ours.client() as a, ours.client() as b, real.client() as c, real.client() as d:
        both = [(log_in(a), Receiver(b)), (log_in(c), Receiver(d))]
        for client, _ in both:
            client.api("STREAM.CREATE.S", STREAM)
        yield both


def create(client, config):
    answer = client.api("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config})
    assert "error" not in answer


def flow_of(client, receiver, count):
    """Return what a client sees of `count` messages of 64 KiB that waits before each answer."""
    for _ in range(count):
        client.ask("s.a", b"x" * 64 * KIB)
    create(client, FLOW)
    seen = []
    asked = b""
    while len([it for it in seen if it.startswith("message")]) < count:
        words, reply = receiver.next()
        seen.append(words)
        if "FlowControl" in words:
            asked = reply
        elif "stalled" in words:  # nothing comes any more until there is an answer
            assert reply == asked
            receiver.send(asked)
    return seen


def test_flow_control_asks_stalls_and_goes_on_as_with_the_real_one(receivers):
    ours, theirs = (flow_of(client, receiver, 80) for client, receiver in receivers)

    assert theirs == ours
    assert any("stalled" in it for it in ours)


def test_answers_of_flow_control_acknowledge(receivers):
    config = {**FLOW, "ack_policy": "flow_control", "max_ack_pending": 3}
    found = []
    for client, receiver in receivers:
        for _ in range(7):
            client.ask("s.a", b"x")
        create(client, {name: it for name, it in config.items() if name != "idle_heartbeat"})
        seen = []
        while len([it for it in seen if it.startswith("message")]) < 7:
            words, reply = receiver.next()
            if "Heartbeat" in words:
                continue
            seen.append(words)
            if "FlowControl" in words:
                at = len([it for it in seen if it.startswith("message")])
                receiver.send(reply, b"Nats-Last-Consumer: %d\r\nNats-Last-Stream: %d" % (at, at))
        info = client.api("CONSUMER.INFO.S.C")
        found.append((seen, info["ack_floor"]["stream_seq"], info["num_ack_pending"]))

    assert found[1] == found[0]


def test_what_comes_at_a_limited_rate_or_as_it_was_stored_comes_whole(receivers):
    for config in ({"rate_limit_bps": 4_000_000}, {"replay_policy": "original"}):
        for client, receiver in receivers:
            client.api("STREAM.PURGE.S")
            for _ in range(5):
                client.ask("s.a", b"x" * 20 * KIB)
            create(client, {**PUSH, **config})
            seen = [receiver.next()[0] for _ in range(5)]
            client.api("CONSUMER.DELETE.S.C")

            assert [it.split()[0] for it in seen] == ["message"] * 5


def test_a_paused_consumer_waits(receivers):
    found = []
    for client, receiver in receivers:
        create(client, {**PUSH, "idle_heartbeat": 100_000_000})
        client.ask("s.a", b"1")
        seen = [receiver.next_message()]
        client.api("CONSUMER.PAUSE.S.C", {"pause_until": "2100-01-01T00:00:00Z"})
        client.ask("s.a", b"2")
        seen += [receiver.next()[0] for _ in range(2)]
        client.api("CONSUMER.PAUSE.S.C", {})
        seen.append(receiver.next_message())
        found.append(seen)

    assert found[1] == found[0]
    assert "Heartbeat" in found[0][1]


def test_headers_of_a_message_without_its_payload(receivers):
    found = []
    for client, receiver in receivers:
        client.ask("s.a", b"four", [("X", "y")])
        client.ask("s.a", b"seven..")
        create(client, {**PUSH, "headers_only": True})
        found.append([receiver.next()[0] for _ in range(2)])

    assert found[1] == found[0]
    assert "Nats-Msg-Size 4" in json.dumps(found[0])
