"""When a stream asks for consumers elsewhere, where they begin, and when it asks again."""

from __future__ import annotations

import json
import random

import pytest
from framework_jetstream.api.errors import ErrCode, api_error
from framework_jetstream.api.records import (
    ExternalStream,
    StreamConsumerSource,
    StreamSource,
    SubjectTransform,
)
from framework_jetstream.sourcing.consumer_request import ConsumerMade, Stored, Taker, read_answer
from framework_jetstream.sourcing.machine import Ask, Follow, ReadStored, SourceMachine, Wait

SECOND_NS = 10**9
NOTHING = Stored(0, "", 0, 0, 0)
MADE = ConsumerMade("JS_SRC_x-1", "$JS.S.abc", 4, "ident")


def taker(*, is_mirror: bool) -> Taker:
    return Taker(stream="T", account="A", domain="d", consumer="JS_SRC_x", is_mirror=is_mirror)


def machine(source: StreamSource, *, is_mirror: bool = False) -> SourceMachine:
    return SourceMachine(source, taker(is_mirror=is_mirror), random.Random(3))


def asked(source: StreamSource, stored: Stored = NOTHING, *, is_mirror: bool = False) -> Ask:
    effect = machine(source, is_mirror=is_mirror).receive_stored(stored, 0)
    assert isinstance(effect, Ask)
    return effect


def config_of(effect: Ask) -> dict[str, object]:
    return json.loads(effect.request.payload)["config"]


def started(config: dict[str, object]) -> tuple[object, object, object]:
    return config["deliver_policy"], config.get("opt_start_seq"), config.get("opt_start_time")


def test_it_waits_a_little_reads_how_far_it_is_and_asks() -> None:
    it = machine(StreamSource(name="O"))
    first = it.begin(0)

    assert isinstance(first, Wait)
    assert 0.1 <= first.delay_s <= 0.2
    assert isinstance(it.receive_due(), ReadStored)
    assert isinstance(it.receive_stored(NOTHING, 0), Ask)
    assert it.receive_answer(MADE, 0) == Follow(MADE)


def test_requests_are_two_seconds_apart_and_rarer_with_each_failure() -> None:
    it = machine(StreamSource(name="O"))
    refused = ConsumerMade(error=api_error(ErrCode.STREAM_NOT_FOUND))
    delays = []
    for _ in range(15):
        it.receive_stored(NOTHING, 0)
        effect = it.receive_answer(refused, SECOND_NS)
        assert isinstance(effect, Wait)
        delays.append(round(effect.delay_s))

    assert delays[:4] == [11, 21, 31, 41]
    assert delays[-1] == 121
    assert it.error == refused.error
    it.receive_stored(NOTHING, 0)
    it.receive_answer(MADE, 0)
    lost = it.begin(SECOND_NS // 2)
    assert isinstance(lost, Wait)
    assert round(lost.delay_s, 1) in {1.6, 1.7}
    assert it.error is None


def test_an_older_server_is_asked_in_its_words() -> None:
    it = machine(StreamSource(name="O"))
    too_new = ConsumerMade(error=api_error(ErrCode.REQUIRED_API_LEVEL))
    requests = [it.receive_stored(Stored(3, "ident", 3, 1, 1), 0)]
    requests += [it.receive_answer(too_new, 0) for _ in range(2)]
    headers = [effect.request.header for effect in requests if isinstance(effect, Ask)]

    assert headers == [
        b"NATS/1.0\r\nNats-Required-Api-Level: 5\r\nNats-Stream-Identity: ident\r\n\r\n",
        b"NATS/1.0\r\nNats-Required-Api-Level: 4\r\n\r\n",
        b"",
    ]
    last = config_of(requests[-1])
    assert "sourcing" not in last
    assert str(last["name"]).startswith("JS_SRC_x_")
    assert isinstance(it.receive_answer(too_new, 0), Wait)


def test_a_stream_that_was_made_anew_is_taken_from_its_beginning() -> None:
    it = machine(StreamSource(name="O"))
    stored = Stored(9, "old", 9, 5, SECOND_NS)
    it.receive_stored(stored, 0)
    mismatch = ConsumerMade(error=api_error(ErrCode.CONSUMER_IDENTITY_MISMATCH, msg="new"))

    wait = it.receive_answer(mismatch, 5 * SECOND_NS)
    assert isinstance(wait, Wait)
    assert wait.delay_s < 0.3
    again = it.receive_stored(stored, 5 * SECOND_NS)
    assert started(config_of(again)) == ("all", None, None)
    assert b"Identity" not in again.request.header


@pytest.mark.parametrize(
    ("source", "stored", "expected"),
    [
        ({}, NOTHING, ("all", None, None)),
        ({}, Stored(7, "", 7, 1, 1), ("by_start_sequence", 8, None)),
        ({"opt_start_seq": 5}, NOTHING, ("by_start_sequence", 5, None)),
        ({"opt_start_seq": 5}, Stored(7, "", 1, 1, 1), ("by_start_sequence", 8, None)),
        (
            {"opt_start_time": "2026-01-01T00:00:00Z"},
            NOTHING,
            ("by_start_time", None, "2026-01-01T00:00:00Z"),
        ),
    ],
)
@pytest.mark.parametrize("is_mirror", [True, False])
def test_a_consumer_begins_behind_what_is_stored(source, stored, expected, is_mirror) -> None:
    effect = asked(StreamSource(name="O", **source), stored, is_mirror=is_mirror)

    assert started(config_of(effect)) == expected


def test_what_was_removed_with_its_headers_is_not_taken_again() -> None:
    stored = Stored(0, "", 3, 50, 1_700_000_000 * SECOND_NS)

    effect = asked(StreamSource(name="O"), stored)
    assert started(config_of(effect)) == ("by_start_time", None, "2023-11-14T22:13:20Z")


def test_other_accounts_and_domains_are_reached_by_their_prefixes() -> None:
    external = ExternalStream(api="$JS.hub.API", deliver="in.mirrors.")
    effect = asked(StreamSource(name="O", filter_subject="a.*", external=external), is_mirror=True)

    assert effect.request.subject == "$JS.hub.API.CONSUMER.CREATE.O.JS_SRC_x.a.*"
    assert str(config_of(effect)["deliver_subject"]).startswith("in.mirrors.M.")


def test_subjects_of_transforms_are_the_filters() -> None:
    both = [SubjectTransform(src="a", dest="b"), SubjectTransform(src="c.*", dest="")]

    config = config_of(asked(StreamSource(name="O", subject_transforms=both)))
    assert config["filter_subjects"] == ["a", "c.*"]
    one = asked(StreamSource(name="O", subject_transforms=both[1:]))
    assert config_of(one)["filter_subject"] == "c.*"
    assert one.request.subject == "$JS.API.CONSUMER.CREATE.O.JS_SRC_x.c.*"


def test_a_consumer_that_is_there_already_is_reset() -> None:
    source = StreamSource(name="O", consumer=StreamConsumerSource(name="D", deliver_subject="d"))
    effect = asked(source)

    assert (effect.request.subject, effect.request.payload) == ("$JS.API.CONSUMER.RESET.O.D", b"")
    it = machine(source)
    it.receive_stored(NOTHING, 0)
    assert it.receive_answer(MADE, 0) == Follow(ConsumerMade(MADE.name, "d", 4, "ident"))


@pytest.mark.parametrize("payload", [b"", b"{}", b"[]", b'{"name":1,"config":[]}', b"\xff"])
def test_an_answer_that_makes_no_sense_is_an_error(payload) -> None:
    made = read_answer(b"", payload, StreamSource(name="O"), is_mirror=True)

    assert made.error is not None
    assert made.error.err_code == ErrCode.MIRROR_CONSUMER_SETUP


def test_a_consumer_of_ones_own_has_to_acknowledge_by_flow_control() -> None:
    source = StreamSource(name="O", consumer=StreamConsumerSource(name="D", deliver_subject="d"))
    text = b'{"name":"D","config":{"ack_policy":"explicit"},"delivered":{"stream_seq":1}}'

    made = read_answer(b"", text, source, is_mirror=False)
    assert made.error is not None
    assert made.error.err_code == ErrCode.SOURCE_CONSUMER_REQUIRES_FLOW_CONTROL
