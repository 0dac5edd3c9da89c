"""Batches as the engine makes them: they lie where a port publishes them from."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from framework_jetstream.api.records import StreamConfig
from framework_jetstream.engine._engine import Engine
from framework_jetstream.engine.refusals import refusal_texts
from framework_jetstream.engine.verbs import Verb
from framework_jetstream.exports.table import table_of
from framework_jetstream.stream.rules import limits_of

sys.path.insert(0, str(Path(__file__).parent.parent / "engine"))

from fake_port import FakePort

TARGET = b"_INBOX.rows"
TOKEN = 7


@pytest.fixture
def port():
    return FakePort()


@pytest.fixture
def read(port):
    """Give a function that reads a table of a stream with so many messages."""
    engine = Engine(refusal_texts(), 7, b"", b"abcdefghijkl")
    engine.open(port.capsule())
    config = StreamConfig(
        name="S", subjects=["s.*"], storage="memory", max_msgs=-1, max_msgs_per_subject=-1,
        max_bytes=-1, max_msg_size=-1,
    )  # fmt: skip
    engine.command(
        Verb.OPEN_STREAM, 1, numbers=(1, 0, 0), limits=limits_of(config), first=b"S", second=b"s.*"
    )
    engine.turn(1, 1)

    def read(count, *, first=1):
        port.tell(0, [(b"s.*", b"s.%d" % at, b"", b"", b"x" * at) for at in range(count)])
        engine.turn(2, 2)
        engine.answers()
        batch = table_of(()).batch
        places = (batch.rows_at, batch.body_at, batch.nodes_at, batch.places_at)
        numbers = (first, count, 1 << 20, table_of(()).wanted, 0, 0, *places, len(TARGET))
        asked = engine.command(Verb.READ_TABLE, 1, numbers=numbers, first=batch.data)
        engine.turn(3, 3)
        [(_, status, _, data, payload)] = [it for it in engine.answers() if it[0] == asked]
        assert (0, b"") == (status, data)
        return payload

    return read


def test_what_was_published_is_gone(port, read):
    payload = read(5)
    shown = bytes(payload)

    assert len(shown) == len(payload)
    assert payload.publish(port.capsule(), 1, TARGET, TOKEN)
    assert [(TARGET, b"", TARGET, shown)] == port.said
    assert (0, b"") == (len(payload), bytes(payload))
    assert not payload.publish(port.capsule(), 1, TARGET, TOKEN)
    assert [(TARGET, b"", TARGET, shown)] == port.said


@pytest.mark.parametrize("subject", [b"", TARGET[:-1], TARGET + b"x"])
def test_there_is_room_for_one_length_of_a_subject(port, read, subject):
    payload = read(5)
    shown = bytes(payload)

    assert not payload.publish(port.capsule(), 1, subject, TOKEN)
    assert [] == port.said
    assert shown == bytes(payload)


def test_no_rows_are_no_payload(read):
    assert read(5, first=6) is None
