"""Offsets of the checkpoint, what is loss and what is not, and how a limit is shared."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark_nats.errors import NatsSourceError
from pyspark_nats.jetstream import StreamState
from pyspark_nats.offsets import Position, json_of, loss, positions_of, shares


def state(first, last, id_="a", retention="limits"):
    return StreamState(
        "S",
        id_,
        first,
        last,
        last - first + 1,
        0,
        retention,
        allow_direct=True,
        duplicate_window_s=120.0,
    )


def test_offsets_survive_the_checkpoint():
    positions = {"B": Position(7, "x"), "A": Position(1, "y")}

    assert positions == positions_of(json.loads(json.dumps(json_of(positions))))


@pytest.mark.parametrize("offset", [{}, {"v": 1}, {"v": 1, "s": {"A": 5}}, {"topic": {"0": 5}}, 7])
def test_another_sources_checkpoint_is_named(offset):
    with pytest.raises(NatsSourceError, match="checkpointLocation"):
        positions_of(offset)


def test_a_newer_checkpoint_is_refused():
    with pytest.raises(NatsSourceError, match="version 2"):
        positions_of({"v": 2, "s": {}})


@pytest.mark.parametrize(
    ("position", "stream", "lost"),
    [
        (Position(1, "a"), state(1, 0), ""),
        (Position(1, "a"), state(1, 9), ""),
        (Position(10, "a"), state(1, 9), ""),  # all read
        (Position(10, "a"), state(10, 9), ""),  # all read, then purged
        (Position(9, "a"), state(10, 9), "messages 9 to 9 are gone"),
        (Position(1, "a"), state(2, 9), "messages 1 to 1 are gone"),
        (Position(11, "a"), state(1, 9), "ends at 9"),
        (Position(1, "a"), state(1, 9, "b"), "created anew"),
    ],
)
def test_loss(position, stream, lost):
    found = loss(position, stream)

    assert lost in found
    assert bool(lost) == bool(found)


@given(
    st.dictionaries(st.text(max_size=3), st.integers(0, 10**9), max_size=6), st.integers(1, 10**9)
)
def test_shares(backlog, limit):
    given_ = shares(backlog, limit)

    assert given_.keys() == backlog.keys()
    assert all(0 <= given_[name] <= backlog[name] for name in backlog)
    assert sum(given_.values()) == min(sum(backlog.values()), limit)
    if limit >= len(backlog):
        assert all(given_[name] for name in backlog if backlog[name])


@pytest.mark.parametrize("retention", ["interest", "workqueue"])
def test_what_others_acknowledge_is_no_loss(retention):
    kept = state(10, 20, retention=retention)

    assert not loss(Position(1, "a"), kept)
    assert loss(Position(1, "b"), kept)
