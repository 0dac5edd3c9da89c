"""The judge of histories finds each mistake that is made in one."""

from __future__ import annotations

import random

import pytest

from tests.torture.history import Stored, judge, payload_of
from tests.torture.used_stream import compare

MUTATIONS = 1000


def history(rng):
    """Return a good history: what was acknowledged, and three replicas."""
    numbers = dict.fromkeys("abc", 0)
    acked, stored = {}, []
    for seq in range(1, rng.randint(10, 60)):
        publisher = rng.choice("abc")
        name = f"{publisher}-{numbers[publisher]}"
        numbers[publisher] += 1
        stored.append(Stored(seq, name, payload_of(name)))
        if rng.random() < 0.9:  # the answer to the others was lost
            acked[name] = seq
    return acked, [list(stored) for _ in range(3)]


def lose(acked, replicas, rng):
    seq = rng.choice(sorted(acked.values()))
    for it in replicas:
        it[:] = [message for message in it if message.seq != seq]


def store_twice(_, replicas, rng):
    again = rng.choice(replicas[0])
    for it in replicas:
        it.append(Stored(len(it) + 1, again.name, again.payload))


def change(_, replicas, rng):
    at = rng.randrange(len(replicas[0]))
    for it in replicas:
        it[at] = Stored(it[at].seq, it[at].name, it[at].payload[1:])


def renumber(acked, _, rng):
    acked[rng.choice(sorted(acked))] += 1


def forget_in_one(_, replicas, rng):
    del replicas[rng.choice((1, 2))][-1]


def differ_in_one(_, replicas, rng):
    it = replicas[rng.choice((1, 2))]
    it[0] = Stored(it[0].seq, it[0].name, b"other")


@pytest.mark.parametrize(
    "mutate", [lose, store_twice, change, renumber, forget_in_one, differ_in_one]
)
def test_each_mistake_is_found(mutate):
    rng = random.Random(7)
    found = 0
    for _ in range(MUTATIONS):
        acked, replicas = history(rng)
        assert judge(acked, replicas).is_good
        mutate(acked, replicas, rng)
        found += not judge(acked, replicas).is_good

    assert found == MUTATIONS


def test_what_a_consumer_delivers_is_compared_with_what_is_there():
    acked, replicas = history(random.Random(7))
    delivered = {it.seq: it.name for it in replicas[0]}
    last = max(delivered)
    less = {seq: name for seq, name in delivered.items() if seq != last}

    assert compare(acked, replicas, delivered, []).is_good
    assert compare(acked, replicas, less, []).missed == 1
    assert compare(acked, replicas, {**delivered, last + 1: "a-99"}, []).other == 1
    assert compare(acked, replicas, {**delivered, last: "a-99"}, []).other == 1
    assert compare(acked, replicas, delivered, [last]).again == 1
