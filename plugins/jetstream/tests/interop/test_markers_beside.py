"""Markers of subjects whose last message was too old, beside the real server's."""

from __future__ import annotations

import json
import re

import pytest

pytestmark = pytest.mark.interop

_TIME = re.compile(rb"Nats-Time-Stamp: [0-9T:.Z-]+")
STORAGES = ["memory", "file"]


def heard(client, key):
    subject, header, payload = client.heard_with_subject(key)
    return subject, _TIME.sub(b"", header), payload


def opened(pair, config):
    """Make a stream on both, and hear what it publishes again."""
    keys = [it.subscribe("re.>") for it in pair]
    answers = [it.api("STREAM.CREATE.S", config) for it in pair]
    assert answers[0]["config"] == answers[1]["config"]
    return keys


def marked(storage, **more):
    return {
        "name": "S",
        "subjects": ["s.>"],
        "storage": storage,
        "subject_delete_marker_ttl": 60_000_000_000,
        "republish": {"src": ">", "dest": "re.>"},
        **more,
    }


def published(pair, keys, messages):
    """Publish the same to both, and hear it again."""
    for message in messages:
        ours, theirs = (json.loads(it.ask(*message)[1]) for it in pair)
        assert theirs == ours
        ours, theirs = (heard(it, key) for it, key in zip(pair, keys, strict=True))
        assert theirs == ours


@pytest.mark.parametrize("storage", STORAGES)
def test_markers_take_the_place_of_the_last_messages(pair, storage):
    keys = opened(pair, marked(storage, max_age=1_000_000_000))
    messages = [
        ("s.a", b"1", ()),
        ("s.b", b"2", [("X", "y")]),
        ("s.a", b"3", ()),
        ("s.c", b"", [("KV-Operation", "PURGE")]),
        ("s.d", b"4", [("Nats-TTL", "never")]),
    ]

    published(pair, keys, messages)

    markers = [[heard(it, key) for _ in range(2)] for it, key in zip(pair, keys, strict=True)]
    assert sorted(markers[0]) == sorted(markers[1])
    for seq in (1, 2, 3, 5, 6, 7):
        ours, theirs = (it.api("STREAM.MSG.GET.S", {"seq": seq}) for it in pair)
        for it in (ours, theirs):
            it.get("message", {}).pop("time", None)
        assert theirs == ours


@pytest.mark.parametrize("storage", STORAGES)
def test_messages_with_a_time_of_their_own_leave_markers(pair, storage):
    keys = opened(pair, marked(storage, max_msgs_per_subject=1))
    messages = [("s.a", b"1", [("Nats-TTL", "1s")])]

    published(pair, keys, messages)

    ours, theirs = (heard(it, key) for it, key in zip(pair, keys, strict=True))
    assert theirs == ours
    assert b"Nats-Marker-Reason: MaxAge\r\nNats-TTL: 1m0s\r\nNats-Rollup: sub" in ours[1]


@pytest.mark.parametrize("storage", STORAGES)
def test_a_time_to_live_is_not_shorter_than_that_of_markers(pair, storage):
    keys = opened(pair, marked(storage))
    messages = [
        ("s.a", b"1", [("Nats-TTL", "1s"), ("X", "y")]),
        ("s.a", b"1", [("Nats-TTL", "2m"), ("X", "y")]),
        ("s.a", b"1", [("X", "y"), ("Nats-TTL", "never")]),
    ]

    published(pair, keys, messages)


@pytest.mark.parametrize("wanted", [-1, 1, 1_000_000_000])
def test_settings_of_markers_are_judged_as_there(pair, wanted):
    config = marked("memory", subject_delete_marker_ttl=wanted)

    ours, theirs = (it.api("STREAM.CREATE.S", config) for it in pair)

    assert theirs.get("error") == ours.get("error")
    assert theirs.get("config") == ours.get("config")
