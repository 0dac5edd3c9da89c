"""Batches whose messages are stored as they come, beside the real server's."""

from __future__ import annotations

import json
import random

import pytest

pytestmark = pytest.mark.interop

SUBJECTS = ["s.a", "s.b"]
START, APPEND, COMMIT, COMMIT_EOB, PING = range(5)
HEADERS = [
    ("X", "y"),
    ("Nats-Msg-Id", "one"),
    ("Nats-Msg-Id", "two"),
    ("Nats-Expected-Stream", "T"),
    ("Nats-Expected-Last-Sequence", "1"),
    ("Nats-Expected-Last-Msg-Id", "one"),
    ("Nats-Rollup", "sub"),
    ("Nats-TTL", "x"),
    ("Nats-Required-Api-Level", "99"),
    ("Nats-Required-Api-Level", "1"),
]


class Publisher:
    """Publishes messages of a batch, and hears all that it is told."""

    def __init__(self, client, number):
        self.client = client
        self.number = number
        self.key = client.subscribe(f"_INBOX.fast{number}.>")

    def tell(self, message):
        subject, payload, headers, words = message
        reply = f"_INBOX.fast{self.number}.{words}.$FI"
        self.client.publish(subject, reply, payload, headers)

    def until_end(self):
        """Return all that came, up to what is published behind it."""
        self.client.send(f"_INBOX.fast{self.number}.end", b"")
        found = []
        while True:
            subject, header, payload = self.client.heard_with_subject(self.key)
            if subject.endswith(b".end"):
                return found
            found.append((subject, header, json.loads(payload) if payload else ""))


def await_all(client):
    """Wait until the stream has taken all that was sent: it says so of what comes behind it.

    The real server answers the API beside what is published.
    """
    refused = client.ask("s.a", b"", [("Nats-Expected-Stream", "T")])[1]
    assert "error" in json.loads(refused)


def some_messages(rng, number):
    """Return the messages of a batch, not all of them as they should be."""
    flow, gap = rng.choice(["1", "2", "10", "x", "0"]), rng.choice(["ok", "fail"])
    count, seq, messages = rng.choice([1, 2, 3, 6]), 0, []
    for place in range(1, count + 1):
        seq += 1 if rng.random() < 0.93 else rng.choice([0, 2])
        operation = APPEND if place > 1 else START
        if place == count and rng.random() < 0.9:
            operation = rng.choice([COMMIT, COMMIT, COMMIT_EOB])
        headers = [rng.choice(HEADERS)] if rng.random() < 0.25 else []
        words = f"b{number}.{flow}.{gap}.{seq}.{operation}"
        if rng.random() < 0.03:
            words = rng.choice([
                "odd",
                f"b{number}.1.odd.1.0",
                "x" * 65 + ".1.ok.1.0",
                "b.1.ok.1.9",
            ])
        messages.append((rng.choice(SUBJECTS), b"x" * rng.choice([0, 40]), headers, words))
        if rng.random() < 0.15:
            ahead = rng.choice([0, 0, 1])
            words = f"b{number}.{flow}.{gap}.{seq + ahead}.{PING}"
            messages.append(("s.a", b"", [], words))
    return messages


def some_config(rng):
    return {
        "name": "S",
        "subjects": ["s.>"],
        "storage": rng.choice(["memory", "file"]),
        "allow_batched": rng.random() < 0.9,
        "allow_rollup_hdrs": rng.random() < 0.5,
        "max_msgs": rng.choice([0, 0, 4]),
        "max_msg_size": rng.choice([0, 0, 30]),
        "discard": rng.choice(["old", "old", "new"]),
    }


def without_times(document):
    for name in ("created", "ts", "cluster", "domain"):
        document.pop(name, None)
    for name in ("first_ts", "last_ts"):
        document.get("state", {}).pop(name, None)
    return document


@pytest.mark.parametrize("seed", range(8))
def test_what_clients_hear_of_their_batches_is_what_they_hear_there(pair, seed):
    rng = random.Random(f"{seed} fast")

    for again in range(5):
        config = some_config(rng)
        ours, theirs = (without_times(it.api("STREAM.CREATE.S", config)) for it in pair)
        assert theirs == ours
        for number in range(6):
            publishers = [Publisher(it, f"{again}x{number}") for it in pair]
            messages = some_messages(rng, number)
            for message in messages:
                for it in publishers:
                    it.tell(message)
                for it in pair:
                    await_all(it)
            ours, theirs = (it.until_end() for it in publishers)
            assert theirs == ours, (seed, config, messages)
        ours, theirs = (without_times(it.api("STREAM.INFO.S")) for it in pair)
        assert theirs == ours
        for it in pair:
            it.api("STREAM.DELETE.S")
