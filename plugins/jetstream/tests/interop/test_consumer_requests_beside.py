"""Requests about consumers beside the real server's: configurations, refusals, pause, reset."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.interop

STREAMS = {
    "S": {"name": "S", "subjects": ["s.>"], "storage": "memory"},
    "I": {"name": "I", "subjects": ["i.>"], "storage": "memory", "retention": "interest"},
    "W": {"name": "W", "subjects": ["w.>"], "storage": "memory", "retention": "workqueue"},
    "L": {
        "name": "L",
        "subjects": ["l.>"],
        "storage": "memory",
        "consumer_limits": {"max_ack_pending": 5, "inactive_threshold": 60_000_000_000},
    },
}
PULL = {"ack_policy": "explicit", "inactive_threshold": 30_000_000_000}
PUSH = {**PULL, "deliver_subject": "d"}
FLOW = {**PUSH, "ack_policy": "flow_control"}
CONFIGS = [
    {},
    PULL,
    PUSH,
    {**PUSH, "flow_control": True},
    {**PUSH, "flow_control": True, "idle_heartbeat": 1_000_000_000},
    {**PUSH, "idle_heartbeat": 1_000},
    {**PUSH, "max_waiting": 3},
    {**PUSH, "rate_limit_bps": 100_000},
    {**PUSH, "deliver_subject": "d.*"},
    {**PUSH, "deliver_subject": "d..e"},
    {**PUSH, "deliver_subject": "s.x"},
    {**PUSH, "ack_policy": "none", "max_ack_pending": 4},
    {**PULL, "rate_limit_bps": 1000},
    {**PULL, "idle_heartbeat": 1_000_000_000},
    {**PULL, "flow_control": True},
    {**PULL, "max_expires": 10},
    {**PULL, "max_waiting": -4, "max_batch": -1, "max_expires": -3, "max_bytes": -9},
    {**PULL, "backoff": [1_000_000_000, 2_000_000_000]},
    {**PULL, "backoff": [1_000_000_000, 2_000_000_000], "max_deliver": 1},
    {**PULL, "backoff": [-1]},
    {**PULL, "ack_wait": -1},
    {**PULL, "sample_freq": "30%"},
    {**PULL, "sample_freq": "30"},
    {**PULL, "sample_freq": "x"},
    {**PULL, "sample_freq": "-4"},
    {**PULL, "replay_policy": "original"},
    {**PULL, "pause_until": "2100-01-01T01:00:00+02:00"},
    {**PULL, "pause_until": "0001-01-01T00:00:00Z"},
    {**PULL, "num_replicas": 3},
    {**PULL, "num_replicas": -1},
    {**PULL, "durable_name": "other"},
    {**PULL, "description": "x" * 5000},
    {**PULL, "metadata": {"a": "b", "_nats.ver": "9"}},
    {**PULL, "metadata": {"a": "b" * 200_000}},
    {**PULL, "direct": True},
    {**PUSH, "direct": True},
    {**PULL, "mem_storage": True},
    {**PULL, "filter_subject": "s.a", "filter_subjects": ["s.b"]},
    {**PULL, "filter_subjects": ["s.a", "s.*"]},
    {**PULL, "filter_subjects": ["s.a", ""]},
    {**PULL, "filter_subjects": ["s.a", "s.b"]},
    {**PULL, "filter_subject": "s..a"},
    {**PULL, "deliver_policy": "by_start_sequence"},
    {**PULL, "deliver_policy": "by_start_time", "opt_start_seq": 4},
    {**PULL, "deliver_policy": "last_per_subject"},
    {**PULL, "deliver_policy": "new"},
    {**PULL, "priority_policy": "overflow"},
    {**PULL, "priority_policy": "overflow", "priority_groups": ["a", "b"]},
    {**PULL, "priority_policy": "prioritized", "priority_groups": ["a"]},
    {**PULL, "priority_policy": "pinned_client", "priority_groups": ["a"]},
    {**PULL, "priority_policy": "pinned_client", "priority_groups": ["a"], "priority_timeout": 5},
    {**PULL, "priority_policy": "overflow", "priority_groups": [""]},
    {**PULL, "priority_policy": "overflow", "priority_groups": ["a b"]},
    {**PULL, "priority_groups": ["a"]},
    {**PULL, "priority_timeout": 5},
    {**PUSH, "priority_policy": "overflow", "priority_groups": ["a"]},
    {**PULL, "max_ack_pending": 6},
    {**PULL, "inactive_threshold": 61_000_000_000},
    {**PULL, "inactive_threshold": 0},
    {**PULL, "ack_policy": "all"},
    FLOW,
    {**FLOW, "ack_wait": 1_000_000_000},
    {**FLOW, "max_deliver": 2},
    {**FLOW, "max_ack_pending": -1},
    {**FLOW, "deliver_subject": ""},
]
FILTERS = ["", "w.a", "w.*", "w.>", "w.b"]


def told(document):
    """Return what both have to say alike of an answer."""
    for name in ("created", "ts", "cluster", "pause_remaining"):
        document.pop(name, None)
    for name in ("delivered", "ack_floor"):
        document.get(name, {}).pop("last_active", None)
    return document


@pytest.mark.parametrize("stream", STREAMS)
def test_configurations_are_taken_and_refused_as_by_the_real_one(pair, stream):
    for it in pair:
        assert "error" not in it.api(f"STREAM.CREATE.{stream}", STREAMS[stream])

    for config in CONFIGS:
        own = {name: value for name, value in config.items() if value != "s.x"}
        request = {"stream_name": stream, "config": {**own, "name": "C"}}
        ours, theirs = (told(it.api(f"CONSUMER.CREATE.{stream}.C", request)) for it in pair)
        for it in pair:
            it.api(f"CONSUMER.DELETE.{stream}.C")

        assert theirs == ours, config


def test_changes_are_taken_and_refused_as_by_the_real_one(pair):
    for it in pair:
        it.api("STREAM.CREATE.S", STREAMS["S"])

    for old in (PULL, PUSH, {**PULL, "deliver_policy": "by_start_sequence", "opt_start_seq": 3}):
        for it in pair:
            it.api("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": {**old, "name": "C"}})
        for new in CONFIGS:
            for action in ("", "create", "update"):
                request = {
                    "stream_name": "S",
                    "config": {**old, **new, "name": "C"},
                    "action": action,
                }
                ours, theirs = (told(it.api("CONSUMER.CREATE.S.C", request)) for it in pair)

                assert theirs == ours, (old, new, action)
        for it in pair:
            it.api("CONSUMER.DELETE.S.C")


def test_consumers_of_a_work_queue_do_not_overlap(pair):
    for it in pair:
        it.api("STREAM.CREATE.W", STREAMS["W"])

    for first in FILTERS:
        for second in FILTERS:
            answers = []
            for it in pair:
                for name, wanted in (("A", first), ("B", second)):
                    config = {**PULL, "name": name, "filter_subject": wanted}
                    request = {"stream_name": "W", "config": config}
                    got = it.api(f"CONSUMER.CREATE.W.{name}", request)
                    answers.append(got.get("error"))
                for name in "AB":
                    it.api(f"CONSUMER.DELETE.W.{name}")

            assert answers[2:] == answers[:2], (first, second)


def test_pause_reset_and_unpin_answer_as_the_real_one(pair):
    for it in pair:
        it.api("STREAM.CREATE.S", STREAMS["S"])
        for number in range(6):
            it.ask("s.a", b"%d" % number)
        for name, more in (
            ("A", {}),
            ("N", {"deliver_policy": "new"}),
            ("Q", {"deliver_policy": "by_start_sequence", "opt_start_seq": 3}),
            ("P", {"priority_policy": "pinned_client", "priority_groups": ["g"]}),
        ):
            config = {**PULL, **more, "name": name}
            it.api(f"CONSUMER.CREATE.S.{name}", {"stream_name": "S", "config": config})

    steps = [
        *(("RESET", name, payload) for name in "ANQ" for payload in (b"", {"seq": 0}, {"seq": 4})),
        ("RESET", "Q", {"seq": 2}),
        ("RESET", "A", {"seq": 2}),
        ("PAUSE", "A", {"pause_until": "2100-01-01T00:00:00Z"}),
        ("INFO", "A", b""),
        ("PAUSE", "A", {"pause_until": "2000-01-01T00:00:00Z"}),
        ("PAUSE", "A", b""),
        ("PAUSE", "A", {}),
        ("INFO", "A", b""),
        ("PAUSE", "none", b""),
        ("UNPIN", "P", {"group": "g"}),
        ("UNPIN", "P", {"group": "h"}),
        ("UNPIN", "P", {"group": "h i"}),
        ("UNPIN", "P", {"group": ""}),
        ("UNPIN", "none", {"group": "g"}),
        ("UNPIN", "A", {"group": "g"}),
        ("INFO", "P", b""),
    ]
    for what, name, payload in steps:
        if what == "RESET":  # it counts from where this one has come
            for it in pair:
                it.fetch("S", name, 2)
        ours, theirs = (told(it.api(f"CONSUMER.{what}.S.{name}", payload)) for it in pair)

        assert theirs == ours, (what, name, payload)
