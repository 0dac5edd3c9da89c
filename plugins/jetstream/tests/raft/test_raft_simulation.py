"""Whole clusters under faults: safety at each event, liveness at the end."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from raft_cluster import Cluster

SEEDS = 520
CHUNK = 40

pytestmark = pytest.mark.sim


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_clusters_keep_their_promises(first: int) -> None:
    faults: Counter[str] = Counter()
    for seed in range(first, first + CHUNK):
        try:
            faults += Cluster(seed).run().faults
        except Exception as broken:
            broken.add_note(f"again: Cluster({seed}).run()")
            raise

    assert not {"stop", "split", "loss", "pause", "slow disk", "transfer"} - set(faults)


def test_a_seed_gives_the_same_run_again() -> None:
    first, second = Cluster(3).run(), Cluster(3).run()

    assert (first.now_ms, first.steps, first.faults) == (second.now_ms, second.steps, second.faults)
