"""The engine wakes up when there is something to do, and not else, whatever there is."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from framework_jetstream.api.records import ConsumerConfig, StreamConfig
from framework_jetstream.consumer.terms import terms_of
from framework_jetstream.engine._engine import Engine
from framework_jetstream.engine.refusals import refusal_texts
from framework_jetstream.engine.verbs import Event, Verb
from framework_jetstream.stream.rules import limits_of

sys.path.insert(0, str(Path(__file__).parent))

from fake_port import FakePort

SECOND_NS = 10**9
STREAM = 1
FAR_NS = 3600 * SECOND_NS


def opened() -> tuple[FakePort, Engine]:
    """Return an engine with a stream in memory whose messages live a second."""
    port, engine = FakePort(), Engine(refusal_texts(), 7, b"", b"abcdefghijkl")
    engine.open(port.capsule())
    config = StreamConfig(
        name="S",
        subjects=["s"],
        storage="memory",
        max_age=SECOND_NS,
        max_msgs=-1,
        max_msgs_per_subject=-1,
        max_bytes=-1,
        max_msg_size=-1,
    )
    opening = {"numbers": (1, 0, 0), "limits": limits_of(config)}
    engine.command(Verb.OPEN_STREAM, STREAM, first=b"S", second=b"s", **opening)
    return port, engine


def open_consumer(engine: Engine, number: int, **more: object) -> None:
    config = ConsumerConfig(durable_name="C", ack_policy="explicit", max_waiting=8, **more)
    engine.command(
        Verb.OPEN_CONSUMER,
        number,
        numbers=(STREAM, 0),
        terms=terms_of(config),
        first=b"C%d" % number,
        second=b"\n",
    )


@pytest.mark.parametrize("seed", range(5))
def test_each_consumer_is_looked_at_when_its_time_has_come(seed: int) -> None:
    rng = random.Random(seed)
    _, engine = opened()
    ends = {number: rng.randrange(1, 60) * SECOND_NS for number in range(2, 200)}
    for number, inactive_ns in ends.items():
        open_consumer(engine, number, inactive_threshold=inactive_ns)
    engine.turn(0, 0)
    closed = rng.sample(sorted(ends), 50)
    for number in closed:
        engine.command(Verb.CLOSE_CONSUMER, number)
        del ends[number]
    engine.turn(0, 0)
    engine.answers()

    turns, now, found = 0, 0, {}
    while len(found) < len(ends):
        now = engine.wakes_ns
        engine.turn(now, now)
        turns += 1
        events = [it for it in engine.answers() if it[0] < 0]
        assert all(status == Event.INACTIVE for _, status, *_ in events)
        found |= {-number: now for number, *_ in events}
    assert found == ends
    assert turns == len(set(ends.values()))


def test_who_has_nothing_to_do_sleeps() -> None:
    _, engine = opened()
    for number in range(2, 500):
        open_consumer(engine, number, ack_wait=SECOND_NS)
    engine.turn(0, 0)
    engine.turn(1, 1)

    assert engine.wakes_ns >= FAR_NS


def test_messages_go_when_they_are_too_old() -> None:
    port, engine = opened()
    engine.turn(0, 0)
    for now in (0, SECOND_NS // 2):
        port.tell(1, [(b"s", b"s", b"", b"", b"x")])
        engine.turn(now, now)
    counts = []
    for _ in range(2):
        now = engine.wakes_ns
        engine.turn(now, now)
        asked = engine.command(Verb.STREAM_STATE, STREAM)
        engine.turn(now, now)
        [state] = [numbers for it, _, numbers, *_ in engine.answers() if it == asked]
        counts.append((now, state[0]))

    assert counts == [(SECOND_NS, 1), (3 * SECOND_NS // 2, 0)]


def test_what_is_due_waits_until_something_can_be_said() -> None:
    port, engine = opened()
    engine.turn(0, 0)
    port.is_full = True
    port.tell(1, [(b"s", b"s", b"reply", b"", b"x")])
    engine.turn(0, 0)
    assert engine.wakes_ns == SECOND_NS
    now = SECOND_NS
    for _ in range(3):
        engine.turn(now, now)
        assert engine.wakes_ns > now
        now = engine.wakes_ns
    port.is_full = False
    engine.turn(now, now)
    asked = engine.command(Verb.STREAM_STATE, STREAM)
    engine.turn(now, now)

    assert [it[0] for it in port.said] == [b"reply"]
    assert [numbers[0] for it, _, numbers, *_ in engine.answers() if it == asked] == [0]
