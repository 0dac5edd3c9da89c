"""Replicated logs under faults: one order everywhere, and nothing that was told is lost."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from framework_jetstream.raft._raftface import read_frame
from framework_jetstream.raft.records import FrameRefused
from replica_cluster import ReplicaCluster

from raft_judge import BrokenError  # isort: skip -- its folder is known by the import before

SEEDS = 200
CHUNK = 20
FAULTS = "stop", "split", "one way", "loss", "replay", "reorder", "late", "pause", "slow disk"
DAMAGE = "wipe", "flip"
RARE = "compact", "trim", "full", "transfer", "hibernates"
"""What each part of the seeds comes to, or they say less than they seem to."""

pytestmark = pytest.mark.sim


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_logs_of_all_servers_are_one(first: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(first, first + CHUNK):
        try:
            cluster = ReplicaCluster(seed).run()
        except Exception as broken:
            broken.add_note(f"again: ReplicaCluster({seed}).run()")
            raise
        seen += cluster.faults + cluster.seen

    assert {*FAULTS, *RARE, *DAMAGE} <= set(seen)


@pytest.mark.parametrize("seed", [3124])
def test_seeds_that_found_mistakes(seed: int) -> None:
    ReplicaCluster(seed).run()


@pytest.mark.parametrize("mistake", ["not synced", "a state is not kept"])
def test_mistakes_are_found(mistake: str) -> None:
    found = 0
    for seed in range(20):
        try:
            ReplicaCluster(seed, mistake).run()
        except BrokenError:
            found += 1

    assert found >= 10


def test_a_seed_gives_the_same_run_again() -> None:
    first, second = ReplicaCluster(3).run(), ReplicaCluster(3).run()

    assert (first.steps, first.judge.chains) == (second.steps, second.judge.chains)


class Flipping(ReplicaCluster):
    """Frames are hurt on their way: a bit in the middle of what a client had published."""

    hurt = 0

    def arrive(self, sender: int, to: int, frame: bytes) -> None:
        at = frame.find(b"published")
        server = self.servers[to]
        group = self.group_first(frame, sender, to)
        if group and self.is_faulty and server.is_up and self.rng.random() < 0.2:
            spoilt = bytearray(frame)
            spoilt[at + 3] ^= 4
            lies, before = server.replicas.lies, server.replicas.state(server.numbers[group])
            if not server.frames and not server.replicas.is_blocked:
                assert server.step(sender, bytes(spoilt)) is FrameRefused.NOT
                assert server.replicas.lies > lies
                assert server.replicas.state(server.numbers[group])[1] == before[1]
                self.hurt += 1
                return
        super().arrive(sender, to, frame)

    @staticmethod
    def group_first(frame: bytes, sender: int, to: int) -> int:
        """Return whose entries come first in a frame; 0: nobody's, or not in one message."""
        messages = read_frame(frame, sender, to)
        assert not isinstance(messages, FrameRefused)
        groups = [it.group for it in messages if any(b"published" in e.data for e in it.entries)]
        return groups[0] if groups and groups.count(groups[0]) == 1 else 0

    def propose(self, server, group):
        index = server.propose(group, [b"published"])
        self.proposals += bool(index)
        return index if self.proposals < 400 else 0


def test_a_flipped_bit_in_a_frame_is_seen_and_nothing_of_it_kept() -> None:
    hurt = 0
    for seed in range(5):
        hurt += Flipping(seed).run().hurt

    assert hurt > 5
