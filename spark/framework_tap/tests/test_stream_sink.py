"""The machine that publishes frames: made, sent again, lost, counted."""

from __future__ import annotations

import json

import pytest
from framework_tap.config import TapRule
from framework_tap.frames import Frame
from framework_tap.limits import (
    ACK_DEADLINE_S,
    FRAMES_UNACKED_MAX,
    MAKE_RETRY_FIRST_S,
    MAKE_RETRY_S,
    SENDS_MAX,
)
from framework_tap.make_turns import MakeTurns
from framework_tap.stream_sink import StreamSink

SECOND_NS = 1_000_000_000
STORED = b'{"stream": "TAP_r", "seq": 1}'


@pytest.fixture
def said():
    return []


@pytest.fixture
def looks():
    """Have the names of sinks that were told that it is their turn."""
    return []


@pytest.fixture
def make(said, looks):
    """Give a function that makes the sink of a rule, as its recorder would."""

    def make(rule="r", turns=None):
        sink = StreamSink(
            rule=rule,
            account="A",
            config=TapRule(),
            server="a server",
            run="RUN.1",
            inbox="$TAPS.x",
            publish=lambda *message: said.append(message),
            turns=turns or MakeTurns(),
        )
        sink.open(lambda: looks.append(rule))
        return sink

    return make


@pytest.fixture
def sink(make):
    return make()


@pytest.fixture
def made(sink, said):
    sink.tick(0)
    sink.receive("make", b"{}")
    said.clear()
    return sink


def ids(said):
    return [header.split(b"Nats-Msg-Id: ")[1].split(b"\r\n")[0] for _, _, header, _ in said]


def test_the_stream_is_made_before_anything_is_stored(sink, said):
    sink.tick(0)
    sink.tick(1)
    [(subject, reply, header, payload)] = said

    assert b'Nats-Request-Info: {"acc": "A"}' in header
    assert (b"$JS.API.STREAM.CREATE.TAP_r", b"$TAPS.x.make") == (subject, reply)
    assert ["$TAP.r.>"] == json.loads(payload)["subjects"]
    assert not sink.has_room
    sink.receive("make", b'{"error": {"code": 503, "description": "no room"}}')
    refused = "no room (storage file, max_bytes 1,073,741,824, replicas 1 of the rule)"
    assert (False, refused) == (sink.has_room, sink.problem)
    sink.tick(int(MAKE_RETRY_S * SECOND_NS))
    assert 2 == len(said)
    sink.receive("make", b'{"error": {"err_code": 10058, "description": "in use"}}')
    assert (True, "") == (sink.has_room, sink.problem)


def test_a_stream_that_is_refused_is_asked_for_less_and_less_often(sink, said):
    at_ns = 0
    while len(said) < 12:
        sink.tick(at_ns)
        sink.receive("make", b'{"error": {"code": 503, "description": "no room"}}')
        wait_s = sink.wait_s(at_ns)
        sink.tick(at_ns + int(wait_s * SECOND_NS) - 1)
        at_ns += int(wait_s * SECOND_NS)
        assert len(said) == 1 or wait_s <= MAKE_RETRY_S

    assert MAKE_RETRY_S == wait_s
    sink.receive("make", b"{}")
    assert sink.wait_s(at_ns) is None


def asked(said):
    return [subject.rpartition(b".")[2].decode() for subject, _, _, _ in said]


def test_so_many_ask_for_streams_at_a_time_and_others_in_their_order(make, said, looks):
    turns = MakeTurns(2)
    sinks = {rule: make(rule, turns) for rule in "abcd"}
    for sink in sinks.values():
        sink.tick(0)
    assert ["TAP_a", "TAP_b"] == asked(said)
    assert (None, None) == (sinks["c"].wait_s(0), sinks["d"].wait_s(0))

    sinks["b"].receive("make", b"{}")
    assert ["c"] == looks
    sinks["c"].tick(1)
    sinks["d"].tick(1)
    assert ["TAP_a", "TAP_b", "TAP_c"] == asked(said)
    assert sinks["c"].wait_s(1) > 0


def test_who_is_not_answered_lets_others_ask_first(make, said, looks):
    turns = MakeTurns(1)
    first, second = make("a", turns), make("b", turns)
    first.tick(0)
    second.tick(0)
    late_ns = int(MAKE_RETRY_FIRST_S * SECOND_NS)
    first.tick(late_ns)
    second.tick(late_ns)
    second.receive("make", b"{}")
    first.tick(late_ns)

    assert ["b", "a"] == looks
    assert ["TAP_a", "TAP_b", "TAP_a"] == asked(said)


def test_who_is_refused_or_ends_lets_others_ask(make, said, looks):
    turns = MakeTurns(1)
    sinks = [make(rule, turns) for rule in "abcd"]
    for sink in sinks:
        sink.tick(0)
    sinks[1].close(0)
    sinks[0].receive("make", b'{"error": {"description": "full"}}')
    assert ["c"] == looks
    sinks[2].close(0)

    assert ["c", "d"] == looks


def test_what_is_not_acknowledged_is_looked_after(made):
    assert made.wait_s(0) is None
    made.store(Frame(b"frame", 1, 0), 0)
    made.store(Frame(b"frame", 1, 0), SECOND_NS)
    assert ACK_DEADLINE_S - 2 == made.wait_s(2 * SECOND_NS)
    made.receive("1", STORED)
    assert ACK_DEADLINE_S - 1 == made.wait_s(2 * SECOND_NS)
    made.receive("2", STORED)
    assert made.wait_s(2 * SECOND_NS) is None


def test_frames_are_published_and_acknowledged(made, said):
    made.store(Frame(b"frame", 7, 0), 0)
    [(subject, reply, header, payload)] = said

    assert (b"$TAP.r.a_server", b"$TAPS.x.1", b"frame") == (subject, reply, payload)
    assert [b"RUN.1.1"] == ids(said)
    assert b"Nats-Expected-Stream: TAP_r\r\n" in header
    assert 0 == made.rows
    made.receive("1", STORED)
    made.receive("1", STORED)
    assert (7, 0) == (made.rows, made.lost)


def test_a_frame_without_an_answer_is_sent_again_under_its_id_and_then_lost(made, said):
    made.store(Frame(b"frame", 7, 2), 0)
    for turn in range(1, 2 * SENDS_MAX):
        made.tick(int(turn * ACK_DEADLINE_S * SECOND_NS))

    assert {b"RUN.1.1"} == set(ids(said[:SENDS_MAX]))
    assert (0, 7, 9) == (made.rows, made.lost, made.take_lost())
    assert 0 == made.take_lost()
    assert not made.has_room
    # Somebody may have deleted the stream.
    assert b"$JS.API.STREAM.CREATE.TAP_r" == said[SENDS_MAX][0]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b'{"error": {"code": 400, "description": "maximum bytes exceeded"}}', "maximum bytes"),
        (b"", "no stream takes it"),
    ],
)
def test_a_frame_that_is_refused_is_lost(made, answer, problem):
    made.store(Frame(b"frame", 7, 0), 0)
    made.receive("1", answer)

    assert (7, 7) == (made.lost, made.take_lost())
    assert problem in made.problem


def test_so_many_frames_may_be_on_their_way(made):
    for _ in range(FRAMES_UNACKED_MAX):
        assert made.has_room
        made.store(Frame(b"frame", 1, 0), 0)
    assert not made.has_room
    made.receive("3", STORED)
    assert made.has_room


@pytest.mark.parametrize("token", ["", "0", "99", "x", "-1", "make"])
def test_answers_to_nothing_change_nothing(made, token):
    made.store(Frame(b"frame", 1, 0), 0)
    made.receive(token, STORED)

    assert (0, 0) == (made.rows, made.lost)
