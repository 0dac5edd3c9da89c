"""A stream and a consumer of three servers, through whole clusters that seeds choose."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from replicated_cluster import ReplicatedCluster

from raft_judge import BrokenError  # isort: skip -- its folder is known by the import before

SEEDS = 200
GROWING = 60
"""Of seeds where the stream is one server's at first."""
SCRUBBING = 80
"""Of seeds where servers read what nobody wants."""
CHUNK = 50
SLICE = 20
FAULTS = "stop", "split", "one way", "loss", "replay", "reorder", "late", "pause", "slow disk"

pytestmark = pytest.mark.sim


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_what_was_acknowledged_is_at_all_servers(first: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(first, first + CHUNK):
        try:
            cluster = ReplicatedCluster(seed).run()
        except Exception as broken:
            broken.add_note(f"again: ReplicatedCluster({seed}).run()")
            raise
        seen += cluster.faults + cluster.seen

    assert {
        *FAULTS,
        "wipe",
        "flip",
        "stored",
        "deleted",
        "settled",
        "led",
        "proposed",
        "compact",
        "trim",
        "step down",
        "updated",
        "save",
        "read",
        "fetch",
        "read log",
        "kept",
    } <= set(seen)


@pytest.mark.parametrize("first", range(0, GROWING, SLICE))
def test_what_one_server_had_alone_is_at_all_servers_that_are_added(first: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(first, first + SLICE):
        try:
            cluster = ReplicatedCluster(seed, grows=True).run()
        except Exception as broken:
            broken.add_note(f"again: ReplicatedCluster({seed}, grows=True).run()")
            raise
        seen += cluster.faults + cluster.seen

    assert {*FAULTS, "stored", "settled", "led", "updated", "save", "fetch"} <= set(seen)


@pytest.mark.parametrize("first", range(0, SCRUBBING, 2 * SLICE))
def test_damage_is_found_before_others_lose_what_it_took(first: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(first, first + 2 * SLICE):
        try:
            cluster = ReplicatedCluster(seed, scrubs=True).run()
        except Exception as broken:
            broken.add_note(f"again: ReplicatedCluster({seed}, scrubs=True).run()")
            raise
        seen += cluster.faults + cluster.seen

    assert {*FAULTS, "segment", "wipe", "flip"} <= set(seen)


def test_who_gives_a_state_that_others_refuse_finds_out_that_it_is_damaged() -> None:
    """A message of a segment is damaged at a server, and another one fetches it in vain."""
    with pytest.raises(BrokenError, match="1: False False False"):
        ReplicatedCluster(146, hides=True).run()


@pytest.mark.parametrize("mistake", ["not synced", "not followed", "segments are not synced"])
def test_a_mistake_is_found(mistake: str) -> None:
    found = 0
    for seed in range(30):
        try:
            ReplicatedCluster(seed, mistake, grows=mistake == "not followed").run()
        except BrokenError:
            found += 1

    assert found >= 5
