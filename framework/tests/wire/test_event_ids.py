from __future__ import annotations

import random

from framework.wire import event_ids
from framework.wire.event_ids import DIGITS, EventIds


def test_they_are_22_characters_and_never_the_same() -> None:
    ids = EventIds(random.Random(1))
    drawn = [ids.next() for _ in range(10_000)]

    assert len(set(drawn)) == 10_000
    assert all(len(it) == 22 and set(it) <= set(DIGITS) for it in drawn)
    assert sorted(drawn) == drawn
    assert len({it[:12] for it in drawn}) == 1


def test_a_spent_sequence_gets_another_prefix(monkeypatch: object) -> None:
    ids = EventIds(random.Random(1))
    first = ids.next()
    ids._sequence = event_ids._SEQUENCE_MAX - 1

    assert ids.next()[:12] != first[:12]
