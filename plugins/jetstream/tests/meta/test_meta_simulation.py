"""Machines of the meta group from seeds, beside a model of lists; and a server of before."""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from framework_jetstream.meta import entries
from framework_jetstream.meta.machine import MetaMachine
from meta_world import MISTAKES, BrokenError, MetaWorld

SEEDS = 200
CHUNK = 50
SEEN = (
    "lost",
    "restored",
    "create",
    "create_consumer",
    "configure",
    "scale",
    "scale_consumer",
    "move",
    "finish",
    "cancel",
    "replace",
    "remove",
    "remove_server",
    "duty",
    "answer: done",
    "answer: same",
    "stop: removed",
    "stop: moved",
    "stop: not assigned",
)
"""What each part of the seeds comes to, or they say less than they seem to."""

pytestmark = pytest.mark.sim


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_all_machines_have_one_state_and_it_is_the_models(first):
    seen = Counter()
    for seed in range(first, first + CHUNK):
        try:
            seen += MetaWorld(seed).run().seen
        except Exception as broken:
            broken.add_note(f"again: MetaWorld({seed}).run()")
            raise

    assert set(SEEN) <= set(seen)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_found(mistake):
    found = 0
    for seed in range(60):
        try:
            MetaWorld(seed, mistake).run()
        except (BrokenError, AssertionError):
            found += 1

    assert found >= 8


def test_a_seed_gives_the_same_run_again():
    first, second = MetaWorld(5).run(), MetaWorld(5).run()

    assert first.committed == second.committed
    assert first.seen == second.seen


@pytest.mark.parametrize(
    "unknown", ["configure", "move", "assign_consumer", "remove", "put_server"]
)
def test_a_server_of_before_loses_nothing_until_it_is_replaced(unknown, monkeypatch):
    held = 0
    for seed in range(15):
        world = MetaWorld(seed).run()
        chance = random.Random(seed)
        upgrade = chance.randint(0, len(world.committed))
        old = MetaMachine("p1")
        with monkeypatch.context() as before:
            words = {word: it for word, it in entries._WORDS.items() if word != unknown}
            before.setattr(entries, "_WORDS", words)
            for index, data in world.committed[:upgrade]:
                if data:
                    old.apply(index, data)
                if chance.random() < 0.02:
                    again = MetaMachine("p1")
                    again.restore(old.snapshot())
                    old = again
            held += len(old.held.entries)
            snapshot = old.snapshot()
        new = MetaMachine("p1")
        new.restore(snapshot)
        for index, data in world.committed[upgrade:]:
            if data:
                new.apply(index, data)
        new.state.index = len(world.committed)

        assert not new.is_behind
        assert new.snapshot() == world.servers["p1"].machine.snapshot()

    assert held
