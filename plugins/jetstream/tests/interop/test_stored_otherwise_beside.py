"""What streams make of messages beside the real server's: transforms, republishing, counters."""

from __future__ import annotations

import base64
import json
import random
import re

import pytest

pytestmark = pytest.mark.interop

SUBJECTS = ["s.a", "s.b", "s.b.c", "s.d.e.f", "s.12345"]
TRANSFORMS = [
    None,
    {"src": "s.*", "dest": "s.one.{{wildcard(1)}}"},
    {"src": "s.>", "dest": "t.>"},
    {"src": "s.b.*", "dest": "s.$1.b"},
    {"src": "s.*", "dest": "s.{{partition(3,1)}}"},
    {"src": "s.*", "dest": "s.{{splitfromleft(1,2)}}"},
    {"src": "s.*", "dest": "s.{{SliceFromRight(1,2)}}"},
    {"src": "s.a", "dest": "s.z"},
    {"src": "none.>", "dest": "other.>"},
    {"src": "", "dest": "all.>"},
]
REPUBLISHED = [
    None,
    {"src": ">", "dest": "re.>"},
    {"dest": "re.>"},
    {"src": "s.*", "dest": "re.{{wildcard(1)}}.x", "headers_only": True},
    {"src": "s.>", "dest": "re.>", "headers_only": True},
    {"src": "t.>", "dest": "re.>"},
]
HEADERS = [("X", "y"), ("Nats-Msg-Id", "one"), ("Nats-Rollup", "sub"), ("Nats-TTL", "1h")]
_TIME = re.compile(rb"Nats-Time-Stamp: [0-9T:.Z-]+")


def told(document):
    for name in ("created", "ts", "cluster", "domain"):
        document.pop(name, None)
    document.get("message", {}).pop("time", None)
    for name in ("first_ts", "last_ts"):
        document.get("state", {}).pop(name, None)
    return document


def both(pair, what, payload=b""):
    """Ask both the same; return what was asked, and both answers."""
    return (what, payload, *(told(it.api(what, payload)) for it in pair))


def stored(pair, last):
    """Return what both say of the messages that they have."""
    return [both(pair, "STREAM.MSG.GET.S", {"seq": seq}) for seq in range(1, last + 1)]


def some_config(rng):
    return {
        "name": "S",
        "subjects": ["s.>"],
        "storage": rng.choice(["memory", "file"]),
        "allow_rollup_hdrs": True,
        "allow_msg_ttl": True,
        "max_msgs": rng.choice([0, 0, 4]),
        "max_msgs_per_subject": rng.choice([0, 0, 1]),
        "discard": rng.choice(["old", "old", "new"]),
        "subject_transform": rng.choice(TRANSFORMS),
        "republish": rng.choice(REPUBLISHED),
    }


def without_none(config):
    return {name: value for name, value in config.items() if value is not None}


def heard(client, key, count):
    """Return the next messages of a subscription, without their times."""
    messages = [client.heard_with_subject(key) for _ in range(count)]
    return [(it[0], _TIME.sub(b"Nats-Time-Stamp: t", it[1]), it[2]) for it in messages]


def mark_end(client):
    """Publish behind all that was published again."""
    client.send("re.end", b"")


def until_end(client, key):
    """Return what was published again."""
    found = []
    while not found or found[-1][0] != b"re.end":
        found += heard(client, key, 1)
    return found


def play_changed(rng, pair, keys):
    """Do some things to both; yield what was done and what they answered."""
    config = without_none(some_config(rng))
    found = both(pair, "STREAM.CREATE.S", config)
    yield found
    if "error" in found[3]:
        return
    last = 0
    for _ in range(20):
        headers = [] if rng.random() < 0.5 else rng.sample(HEADERS, 1)
        message = rng.choice(SUBJECTS), b"x" * rng.choice([0, 1, 10]), headers
        answers = [json.loads(it.ask(*message)[1]) for it in pair]
        yield message, config, *answers
        last = max(last, answers[1]["seq"])
        if rng.random() < 0.1:
            config["subject_transform"] = rng.choice(TRANSFORMS)
            config["republish"] = rng.choice(REPUBLISHED)
            yield both(pair, "STREAM.UPDATE.S", without_none(config))
    yield from stored(pair, last)
    for it in pair:
        mark_end(it)
    yield config, "heard", *(until_end(it, key) for it, key in zip(pair, keys, strict=True))
    yield both(pair, "STREAM.INFO.S", {"subjects_filter": ">"})
    yield both(pair, "STREAM.DELETE.S")


@pytest.mark.parametrize("seed", range(6))
def test_subjects_are_changed_and_messages_published_again_as_there(pair, seed):
    rng = random.Random(f"{seed} changed")
    keys = [it.subscribe("re.>") for it in pair]

    for _ in range(6):
        for what, payload, ours, theirs in play_changed(rng, pair, keys):
            assert theirs == ours, (seed, what, payload)


NUMBERS = ["+1", "-1", "1", "+0", "99999999999999999999999999", "-100000000000000000000000000000"]
NO_NUMBERS = ["x", "1.5", "+", "0x1", " 1 2"]


def some_increment(rng):
    headers = {"Nats-Incr": rng.choice(NUMBERS * 4 + NO_NUMBERS)} if rng.random() < 0.9 else {}
    if rng.random() < 0.2:
        headers |= dict([
            rng.choice([
                ("Nats-Rollup", "sub"),
                ("Nats-Expected-Stream", "S"),
                ("Nats-Expected-Last-Sequence", "0"),
                ("Nats-Msg-Id", "one"),
                ("Nats-Msg-Id", "two"),
                ("X", "y"),
                ("Nats-TTL", "1h"),
            ])
        ])
    payload = b"x" if rng.random() < 0.1 else b""
    return rng.choice(["s.a", "s.b"]), payload, list(headers.items())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("storage", ["memory", "file"])
def test_counters_count_as_there(pair, seed, storage):
    rng = random.Random(f"{seed} counters")
    config = {
        "name": "S",
        "subjects": ["s.>"],
        "storage": storage,
        "allow_msg_counter": True,
        "max_msgs_per_subject": rng.choice([0, 1]),
        "max_msg_size": rng.choice([0, 0, 90]),
    }
    _, _, ours, theirs = both(pair, "STREAM.CREATE.S", config)
    assert theirs == ours

    last = 0
    for _ in range(60):
        message = some_increment(rng)
        ours, theirs = (json.loads(it.ask(*message)[1]) for it in pair)
        assert theirs == ours, (seed, message)
        last = max(last, theirs["seq"])
    for what, payload, ours, theirs in stored(pair, last):
        assert theirs == ours, (what, payload)


def test_a_stream_without_counters_refuses_increments(pair):
    for it in pair:
        it.api("STREAM.CREATE.S", {"name": "S", "subjects": ["s.>"], "storage": "memory"})

    for value in ("+1", "x"):
        ours, theirs = (json.loads(it.ask("s.a", b"", [("Nats-Incr", value)])[1]) for it in pair)
        assert theirs == ours


COUNTED = ["c.a", "c.b", 'c."q"', "c.<x>"]


@pytest.mark.parametrize("seed", range(4))
def test_counters_of_other_streams_are_counted_together(pair, seed):
    rng = random.Random(f"{seed} sources")
    counter = {"allow_msg_counter": True, "storage": rng.choice(["memory", "file"])}
    sources = [
        {"name": "S", "subject_transforms": [{"src": "c.*", "dest": "all.{{wildcard(1)}}"}]},
        {"name": "T"},
    ]
    asked = [
        ("STREAM.CREATE.S", {"name": "S", "subjects": ["c.*"], **counter}),
        ("STREAM.CREATE.T", {"name": "T", "subjects": ["all.*"], **counter}),
        ("STREAM.CREATE.A", {"name": "A", "subjects": ["own.*"], "sources": sources, **counter}),
    ]
    for what, config in asked:
        assert not any("error" in it.api(what, config) for it in pair)
    messages = [
        (rng.choice(COUNTED).replace("c.", rng.choice(["c.", "all.", "own."])), rng.randint(-9, 99))
        for _ in range(40)
    ]
    for subject, number in messages:
        ours, theirs = (
            json.loads(it.ask(subject, b"", [("Nats-Incr", f"{number:+}")])[1]) for it in pair
        )
        # What comes from the sources meanwhile has sequences of its own.
        assert {**theirs, "seq": 0} == {**ours, "seq": 0}
    expected = {}
    for subject, number in messages:
        name = subject.replace("c.", "all.")
        expected[name] = expected.get(name, 0) + number
    told_values = [counted(it, expected) for it in pair]

    assert told_values[1] == told_values[0]
    assert {name: value for name, (value, _) in told_values[0].items()} == expected


def counted(client, expected):
    """Return value and sources of each counter of `A`, once all has come there."""
    for _ in range(1000):
        found = {}
        for subject in expected:
            answer = client.api("STREAM.MSG.GET.A", {"last_by_subj": subject})
            if "message" in answer:
                found[subject] = last_of(answer["message"])
        if {name: value for name, (value, _) in found.items()} == expected:
            break
    return found


def last_of(message):
    value = json.loads(base64.b64decode(message["data"]))["val"]
    headers = base64.b64decode(message.get("hdrs", "")).decode().splitlines()
    return int(value), [it for it in headers if it.startswith("Nats-Counter")]
