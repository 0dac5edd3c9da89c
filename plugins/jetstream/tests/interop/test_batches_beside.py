"""Batches that are stored together or not at all, beside the real server's."""

from __future__ import annotations

import json
import random

import pytest

pytestmark = pytest.mark.interop

SUBJECTS = ["s.a", "s.b", "s.c"]
HEADERS = [
    ("X", "y"),
    ("Nats-Msg-Id", "one"),
    ("Nats-Msg-Id", "two"),
    ("Nats-Msg-Id", "three"),
    ("Nats-Expected-Stream", "S"),
    ("Nats-Expected-Stream", "T"),
    ("Nats-Expected-Last-Sequence", "{last}"),
    ("Nats-Expected-Last-Sequence", "1"),
    ("Nats-Expected-Last-Subject-Sequence", "{last}"),
    ("Nats-Expected-Last-Subject-Sequence", "0"),
    ("Nats-Expected-Last-Msg-Id", "one"),
    ("Nats-Rollup", "sub"),
    ("Nats-Rollup", "all"),
    ("Nats-Rollup", "odd"),
    ("Nats-TTL", "1h"),
    ("Nats-TTL", "x"),
    ("Nats-Incr", "+1"),
    ("Nats-Stream-Source", "x"),
    ("Nats-Required-Api-Level", "2"),
    ("Nats-Required-Api-Level", "99"),
    ("Nats-Required-Api-Level", "x"),
]


def told(document):
    for name in ("created", "ts", "cluster", "domain"):
        document.pop(name, None)
    document.get("message", {}).pop("time", None)
    for name in ("first_ts", "last_ts"):
        document.get("state", {}).pop(name, None)
    return document


def both(pair, what, payload=b""):
    return (what, payload, *(told(it.api(what, payload)) for it in pair))


def some_config(rng):
    per_subject = rng.choice([0, 0, 1, 2])
    discard = rng.choice(["old", "old", "new"])
    config = {
        "name": "S",
        "subjects": ["s.>"],
        "storage": rng.choice(["memory", "file"]),
        "allow_atomic": rng.random() < 0.9,
        "allow_rollup_hdrs": rng.random() < 0.7,
        "allow_msg_ttl": rng.random() < 0.5,
        "max_msgs": rng.choice([0, 0, 5]),
        "max_bytes": rng.choice([0, 0, 0, 800]),
        "max_msgs_per_subject": per_subject,
        "max_msg_size": rng.choice([0, 0, 0, 150]),
        "discard": discard,
    }
    if rng.random() < 0.3:
        config["subject_transform"] = {"src": "s.a", "dest": "s.b"}
    return config


def some_batch(rng, number, last):
    """Return the messages of a batch, not all of them as they should be."""
    count = rng.choice([1, 2, 3, 5])
    messages = []
    for seq in range(1, count + 1):
        headers = {"Nats-Batch-Id": f"b{number}", "Nats-Batch-Sequence": str(seq)}
        if seq == count:
            headers["Nats-Batch-Commit"] = rng.choice(["1"] * 6 + ["eob", "eob", "x"])
        if rng.random() < 0.35:
            name, value = rng.choice(HEADERS)
            headers.setdefault(name, value.format(last=last))
        if rng.random() < 0.03:
            headers["Nats-Batch-Sequence"] = rng.choice(["0", "7", "x", "2000"])
        if rng.random() < 0.02:
            headers["Nats-Batch-Id"] = "x" * 65
        messages.append((
            rng.choice(SUBJECTS),
            b"x" * rng.choice([0, 1, 30]),
            list(headers.items()),
        ))
    return messages


def play(rng, pair):
    """Do some things to both; yield what was done and what they answered."""
    yield both(pair, "STREAM.CREATE.S", some_config(rng))
    last = 0
    for number in range(12):
        for message in some_batch(rng, number, last):
            answers = [it.ask(*message)[1] for it in pair]
            yield (message, last, *map(_read, answers))
            if answers[1]:
                last = max(last, json.loads(answers[1])["seq"])
        if rng.random() < 0.3:
            message = rng.choice(SUBJECTS), b"alone", []
            answers = [json.loads(it.ask(*message)[1]) for it in pair]
            yield (message, last, *answers)
            last = max(last, answers[1]["seq"])
    for seq in range(1, last + 1):
        yield both(pair, "STREAM.MSG.GET.S", {"seq": seq})
    yield both(pair, "STREAM.INFO.S", {"subjects_filter": ">"})
    yield both(pair, "STREAM.DELETE.S")


def _read(answer):
    return json.loads(answer) if answer else ""


@pytest.mark.parametrize("seed", range(6))
def test_batches_are_stored_as_there(pair, seed):
    rng = random.Random(f"{seed} batches")

    for _ in range(6):
        for what, payload, ours, theirs in play(rng, pair):
            assert theirs == ours, (seed, what, payload)


@pytest.mark.parametrize("storage", ["memory", "file"])
def test_counters_count_in_batches(pair, storage):
    config = {"name": "S", "subjects": ["s.>"], "storage": storage}
    for it in pair:
        it.api("STREAM.CREATE.S", {**config, "allow_atomic": True, "allow_msg_counter": True})
    headers = [("Nats-Batch-Id", "b")]

    for seq, commit in enumerate([(), (), (("Nats-Batch-Commit", "1"),)], start=1):
        more = [*headers, ("Nats-Batch-Sequence", str(seq)), ("Nats-Incr", f"+{seq}"), *commit]
        ours, theirs = (_read(it.ask("s.a", b"", more)[1]) for it in pair)
        assert theirs == ours
    for seq in range(1, 4):
        _, _, ours, theirs = both(pair, "STREAM.MSG.GET.S", {"seq": seq})
        assert theirs == ours


def test_what_is_abandoned_is_told(pair):
    config = {"name": "S", "subjects": ["s.>"], "storage": "memory", "allow_atomic": True}
    found = []
    for it in pair:
        it.api("STREAM.CREATE.S", config)
        key = it.subscribe("$JS.EVENT.ADVISORY.STREAM.BATCH_ABANDONED.S")
        it.ask("s.a", b"", [("Nats-Batch-Id", "b"), ("Nats-Batch-Sequence", "1")])
        it.ask("s.a", b"", [("Nats-Batch-Id", "b"), ("Nats-Batch-Sequence", "3")])
        advisory = json.loads(it.heard(key)[1])
        found.append({name: advisory[name] for name in advisory if name not in {"id", "timestamp"}})

    ours, theirs = found
    assert theirs == ours
