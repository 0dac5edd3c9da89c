"""Pedantic requests beside the real server's: refused in the same words."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.interop

SECOND = 1_000_000_000
STREAMS = [
    {},
    *({name: -2} for name in ("max_msgs", "max_msgs_per_subject", "max_bytes")),
    {"max_msg_size": -2},
    {"max_consumers": -5},
    {"max_msgs": -1},
    {"max_age": SECOND},
    {"max_age": SECOND, "duplicate_window": SECOND},
    {"max_age": 300 * SECOND},
]
CONSUMERS = [
    {},
    {"max_deliver": -2},
    {"max_waiting": -1},
    {"max_ack_pending": -2},
    *({name: -1} for name in ("max_batch", "max_expires", "max_bytes", "inactive_threshold")),
    {"backoff": [SECOND], "max_deliver": 5},
    {"backoff": [SECOND], "max_deliver": 5, "ack_wait": SECOND},
    {"backoff": [30 * SECOND], "max_deliver": 5},
]


def refusal(document):
    return document.get("error")


@pytest.mark.parametrize("is_pedantic", [True, False])
def test_streams(pair, is_pedantic):
    for config in STREAMS:
        stream = {"name": "S", "subjects": ["s"], "storage": "memory", **config}
        told = []
        for it in pair:
            answer = it.api("STREAM.CREATE.S", {**stream, "pedantic": is_pedantic})
            told.append(refusal(answer))
            it.api("STREAM.DELETE.S")

        assert told[1] == told[0], config


@pytest.mark.parametrize("is_pedantic", [True, False])
def test_updates_of_streams(pair, is_pedantic):
    stream = {"name": "S", "subjects": ["s"], "storage": "memory"}
    for it in pair:
        it.api("STREAM.CREATE.S", stream)
    for config in STREAMS:
        request = {**stream, **config, "pedantic": is_pedantic}
        told = [refusal(it.api("STREAM.UPDATE.S", request)) for it in pair]

        assert told[1] == told[0], config


@pytest.mark.parametrize("is_pedantic", [True, False])
def test_consumers(pair, is_pedantic):
    for it in pair:
        it.api("STREAM.CREATE.S", {"name": "S", "subjects": ["s"], "storage": "memory"})
    for config in CONSUMERS:
        body = {
            "stream_name": "S",
            "config": {"name": "C", "durable_name": "C", "ack_policy": "explicit", **config},
            "pedantic": is_pedantic,
        }
        told = []
        for it in pair:
            told.append(refusal(it.api("CONSUMER.CREATE.S.C", body)))
            it.api("CONSUMER.DELETE.S.C")

        assert told[1] == told[0], config
