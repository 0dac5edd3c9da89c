"""Clusters whose logs stand on disks to the byte: a seed chooses network, disks, faults and work.

One of them again: `ReplicaCluster(SEED).run()`. Time, network and faults are those of
`raft_cluster.py`.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent.parent / "raft"))

from framework_jetstream.log import Kind
from framework_jetstream.raft.records import Role
from msgspec.structs import replace
from raft_cluster import FAULTY_MS, LOSING, QUIET_MS, Cluster
from replica_server import GROUPS, Judge, ReplicaServer, demand
from typing_extensions import override

if TYPE_CHECKING:
    from typing import Self

PROPOSALS_MAX = 400


class ReplicaCluster(Cluster):
    """Servers with the same groups, and the world between them.

    Args:
        seed: Chooses everything.
        mistake: Is made by all servers; see `ReplicaServer`.
    """

    def __init__(self, seed: int, mistake: str = "") -> None:
        super().__init__(seed, 3)
        settings = self.settings
        self.settings = replace(
            settings,
            append_bytes_max=10 * settings.append_bytes_max,
            inflight_bytes_max=10 * settings.inflight_bytes_max,
            uncommitted_bytes_max=20_000,
            window_bytes_max=10 * settings.window_bytes_max,
            range_bytes_max=10 * settings.range_bytes_max,
        )
        self.judge = Judge()
        votes = dict.fromkeys((1, 2, 3), True)
        self.servers = {
            server_id: ReplicaServer(
                server_id,
                self.judge,
                self.settings,
                votes,
                (seed, mistake),
                hibernates=self.is_resting and self.rest_rng.random() < 0.97,
            )
            for server_id in votes
        }
        self.judge.servers = self.servers
        self.waiting = {server_id: [] for server_id in votes}
        self.seen = Counter[str]()

    @override
    def stop(self, server_id: int) -> None:
        server = self.servers[server_id]
        if server.is_up:
            self.faults["stop"] += 1
            server.stop()
            self.waiting[server_id].clear()

    @override
    def lose(self) -> None:
        """Hurt a server's disk, where all others are whole; now and then."""
        if not self.is_faulty:
            return
        self.after(self.loss_rng.uniform(100, 1500), self.lose)
        server = self.servers[self.loss_rng.choice(list(self.servers))]
        if server.is_up and not any(it.lacks for it in self.servers.values() if it is not server):
            self.faults[server.lose()] += 1
            self.waiting[server.id].clear()
            self.after(self.loss_rng.choice((10, 200, 1500)), self.start, server.id)

    @override
    def resume(self, server_id: int, start: int) -> None:
        server = self.servers[server_id]
        if not server.is_up or server.starts != start or not server.is_paused:
            return
        server.is_paused = False
        server.tick(self.ticks_missed.pop(server_id, 0))
        waiting, self.waiting[server_id] = self.waiting[server_id], []
        for sender, frame in waiting:
            server.step(sender, frame)
        self.pump(server)

    @override
    def pump(self, server: ReplicaServer) -> None:
        """Do all that a server has to do now, and let its disk work."""
        for to, frame in server.turn():
            self.send(server.id, to, frame)
        self.seen["full"] += server.replicas.is_full
        if server.begin_round():
            took = 400.0 if server.id in self.slow else 1 + self.rng.random() * 10
            self.after(took, self.end_round, server, server.starts)

    def end_round(self, server: ReplicaServer, start: int) -> None:
        if server.is_up and server.starts == start:
            server.end_round()
            self.pump(server)

    @override
    def work(self) -> None:
        rng = self.rng
        if not self.is_faulty:
            return
        self.after(rng.expovariate(1 / 25) + self.lull_ms(0.1), self.work)
        running = [it for it in self.servers.values() if it.is_up and not it.is_paused]
        if not running:
            return
        server = rng.choice(running)
        group = rng.choice(GROUPS)
        chance = rng.random()
        if chance < 0.8:
            leading = [it for it in running if it.replicas.role(it.numbers[group]) is Role.LEADER]
            server = rng.choice(leading or running)
            for _ in range(rng.choice((1, 1, 3, 20))):
                self.propose(server, group)
        elif chance < 0.85:
            to = rng.choice((0, *self.servers))
            self.faults["transfer"] += server.replicas.transfer(server.numbers[group], to)
        else:
            first = server.log.first_file
            server.compact(group)
            self.seen["compact"] += 1
            self.seen["trim"] += server.log.first_file > first
        self.pump(server)

    def propose(self, server: ReplicaServer, group: int) -> int:
        if self.proposals >= PROPOSALS_MAX:
            return 0
        rng = self.rng
        parts = [rng.randbytes(rng.choice((0, 3, 10, 150, 900))) for _ in range(rng.randint(1, 3))]
        index = server.propose(group, parts, rng.choice((Kind.BATCH, Kind.OP, Kind.CONSUMER)))
        self.proposals += bool(index)
        return index

    @override
    def heal(self) -> None:
        super().heal()
        self.proposals = 0
        self.seen["hibernates"] += self.judge.hibernates
        self.last: dict[int, tuple[int, int]] = dict.fromkeys(GROUPS, (0, 0))

    @override
    def agree(self) -> bool:
        """Whether all have applied what leaders proposed after the faults, and what was told."""
        agrees = [self._agrees(group) for group in GROUPS]
        return all(agrees)

    def _agrees(self, group: int) -> bool:
        leaders = [
            it for it in self.servers.values() if it.replicas.role(it.numbers[group]) is Role.LEADER
        ]
        if not leaders:
            return False
        leader = max(leaders, key=lambda it: it.replicas.state(it.numbers[group])[0])
        term = leader.replicas.state(leader.numbers[group])[0]
        if self.last[group][0] != term:
            index = self.propose(leader, group)
            if index:
                self.last[group] = term, index
                self.pump(leader)
            return False
        stored = [it.stored[group] for it in self.servers.values()]
        if min(it.index for it in stored) < self.last[group][1]:
            return False
        if any(it.replicas.is_lost(it.numbers[group]) for it in self.servers.values()):
            return False
        demand(self.judge.told.get(group, 0) <= self.last[group][1], "what was told is gone")
        return True

    @override
    def run(self) -> Self:
        """Let anything happen, then heal everything, and see that all go on."""
        for server_id in self.servers:
            self.start(server_id)
        self.after(0, self.work)
        self.after(self.rng.uniform(0, 800), self.fault)
        if self.loss_rng.random() < LOSING:
            self.after(self.loss_rng.uniform(0, 2000), self.lose)
        self.run_until(FAULTY_MS)
        self.heal()
        demand(self.run_until(self.now_ms + QUIET_MS, self.agree), f"no agreement: {self.state()}")
        return self

    @override
    def state(self) -> str:
        return "; ".join(
            f"{it.id}: {[it.replicas.state(number) for number in it.numbers.values()]}"
            for it in self.servers.values()
        )
