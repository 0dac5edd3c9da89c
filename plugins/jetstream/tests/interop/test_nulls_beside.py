"""Members of requests that are null, beside the real server: as if they were not there."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.interop

STREAM = {
    "name": "S",
    "subjects": ["s.>"],
    "storage": "memory",
    "max_msgs": None,
    "max_age": None,
    "description": None,
    "placement": {"cluster": None},
    "mirror": None,
    "sources": None,
    "subject_transform": None,
    "republish": None,
    "allow_direct": None,
    "metadata": None,
    "consumer_limits": None,
}
CONSUMER = {
    "durable_name": "C",
    "ack_policy": "explicit",
    "opt_start_seq": None,
    "opt_start_time": None,
    "filter_subjects": None,
    "backoff": None,
    "max_deliver": None,
    "metadata": None,
}
REQUESTS = [
    ("STREAM.CREATE.S", STREAM),
    ("STREAM.UPDATE.S", STREAM),
    ("STREAM.INFO.S", {"subjects_filter": None, "deleted_details": None, "offset": None}),
    ("STREAM.NAMES", {"subject": None, "offset": None}),
    ("STREAM.LIST", {"subject": None, "offset": None}),
    ("STREAM.MSG.GET.S", {"seq": 1, "last_by_subj": None, "next_by_subj": None}),
    ("STREAM.MSG.GET.S", {"seq": None, "last_by_subj": "s.a"}),
    ("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": CONSUMER, "action": None}),
    ("CONSUMER.NAMES.S", {"offset": None}),
    ("CONSUMER.LIST.S", {"offset": None}),
    ("CONSUMER.PAUSE.S.C", {"pause_until": None}),
    ("STREAM.MSG.DELETE.S", {"seq": 1, "no_erase": None}),
    ("STREAM.PURGE.S", {"filter": None, "seq": None, "keep": None}),
    ("STREAM.PURGE.S", {"filter": None, "unknown": None}),
]
CHANGING = frozenset({"created", "ts", "time", "first_ts", "last_ts", "cluster", "metadata"})


def steady(value):
    """Return an answer without times, and what each server says of itself."""
    if isinstance(value, dict):
        return {name: steady(it) for name, it in value.items() if name not in CHANGING}
    return [steady(it) for it in value] if isinstance(value, list) else value


def without_words(document):
    """Return an answer in which only the number says what is wrong with JSON."""
    if document.get("error", {}).get("err_code") == 10025:
        document["error"]["description"] = ""
    return document


def test_what_is_null_is_not_there(pair):
    for subject, request in REQUESTS:
        told = []
        for it in pair:
            if subject == "STREAM.INFO.S":
                it.ask("s.a", b"one")
            told.append(without_words(steady(it.api(subject, request))))

        assert told[1] == told[0], subject


@pytest.mark.parametrize("name", ["retention", "discard", "storage", "compression"])
def test_words_of_streams_are_not_null(pair, name):
    request = {"name": "S", "subjects": ["s"], "storage": "memory", name: None}
    told = [without_words(steady(it.api("STREAM.CREATE.S", request))) for it in pair]

    assert told[1] == told[0]


@pytest.mark.parametrize("name", ["deliver_policy", "ack_policy", "replay_policy"])
def test_words_of_consumers_are_not_null(pair, name):
    for it in pair:
        it.api("STREAM.CREATE.S", {"name": "S", "subjects": ["s"], "storage": "memory"})
    config = {"durable_name": "C", "ack_policy": "explicit", name: None}
    request = {"stream_name": "S", "config": config}
    told = [without_words(steady(it.api("CONSUMER.DURABLE.CREATE.S.C", request))) for it in pair]

    assert told[1] == told[0]
