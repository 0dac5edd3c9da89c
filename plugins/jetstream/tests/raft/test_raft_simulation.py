"""Whole clusters under faults: safety at each event, liveness at the end."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from raft_cluster import Cluster

SEEDS = 1000
CHUNK = 200
FAULTS = (
    *("stop", "split", "one way", "loss", "replay", "reorder", "late", "pause", "slow disk"),
    *("lose", "old copy", "spoil"),
)
RARE = (
    *("election", "transfer", "compact", "range", "piece", "log replaced", "cut", "add_learner"),
    *("restored", "old copy found out", "hibernates", "range of what is in a state"),
    *("spoiled majority", "begins anew"),
)
"""What each part of the seeds comes to, or they say less than they seem to."""

BROKEN_BEFORE = (1954, 2536, 2602, 3733, 3843, 4410)
"""Two that could not read what they had began anew at once, which nobody knew of both."""

pytestmark = pytest.mark.sim


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_clusters_keep_their_promises(first: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(first, first + CHUNK):
        try:
            cluster = Cluster(seed).run()
        except Exception as broken:
            broken.add_note(f"again: Cluster({seed}).run()")
            raise
        seen += cluster.faults + cluster.judge.seen

    assert set(FAULTS) | set(RARE) <= set(seen)


@pytest.mark.parametrize("seed", BROKEN_BEFORE)
def test_what_was_broken_before_holds(seed: int) -> None:
    Cluster(seed).run()


def test_a_seed_gives_the_same_run_again() -> None:
    first, second = Cluster(3).run(), Cluster(3).run()

    assert (first.now_ms, first.steps, first.faults) == (second.now_ms, second.steps, second.faults)
