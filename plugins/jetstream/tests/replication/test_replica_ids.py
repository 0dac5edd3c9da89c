"""The table of groups by id, beside a dict."""

from __future__ import annotations

import random

import pytest
from framework_jetstream.replication._replicaface import ReplicaIds

GOLDEN = 0x9E3779B97F4A7C15


def home_of(number):
    """Where an id wants to stand, in a table of any size up to 2**32."""
    return (number * GOLDEN & (2**64 - 1)) >> 32


NEIGHBOURS = [number for number in range(1, 60_000) if home_of(number) & 127 in {0, 1, 126, 127}]
"""Ids that stand in each other's way, also across the end of the table."""


@pytest.mark.parametrize("seed", range(20))
def test_it_is_as_a_dict(seed):
    rng = random.Random(seed)
    table, model = ReplicaIds(), {}
    ids = rng.sample(NEIGHBOURS, 60) + [rng.randrange(1, 2**64) for _ in range(20)]
    for step in range(1, 3000):
        number = rng.choice(ids)
        if rng.random() < (0.7 if step // 500 % 2 else 0.4):
            assert table.put(number, step) == (number not in model)
            model.setdefault(number, step)
        else:
            table.drop(number)
            model.pop(number, None)
        assert len(table) == len(model)
        assert table.find(number) == model.get(number, 0)
        if step % 50 == 0:
            assert [table.find(it) for it in ids] == [model.get(it, 0) for it in ids]


def test_nothing_is_in_an_empty_one():
    table = ReplicaIds()
    table.drop(7)

    assert (table.find(7), len(table)) == (0, 0)
