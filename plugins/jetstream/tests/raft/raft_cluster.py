"""A simulated cluster: a seed chooses network, disks, clocks, faults and work; the judge looks on.

One of them again: `Cluster(SEED).run()`. Time is in milliseconds that nobody waits for.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from typing import TYPE_CHECKING

from framework_jetstream.raft.records import Change, Role, Settings
from raft_judge import Judge, demand
from raft_server import Server

if TYPE_CHECKING:
    from collections.abc import Callable

    from raft_server import Disk

TICK_MS = 50
SPARE = 2
"""Servers that may join."""
FAULTY_MS = 5000
"""So long anything may happen."""
QUIET_MS = 20000
"""So long at most it may take until all agree afterwards."""
PROPOSALS_MAX = 120
LOSING = 0.5
"""Of seeds, in which servers lose their disks."""
SPOILING = 0.4
"""Of seeds, in which servers can't read what entries have led to."""
TRIES = 40
"""To put one back."""
RESTING = 0.6
"""Of seeds, in which groups may hibernate: now and then nobody wants anything."""
TURNS_MAX = 500


class Cluster:
    """Servers, and the world between them.

    Args:
        seed: Chooses everything.
        size: How many servers vote at the start.
    """

    def __init__(self, seed: int, size: int = 0) -> None:
        self.rng = random.Random(f"{seed} world")
        self.loss_rng = random.Random(f"{seed} losses")
        self.copy_rng = random.Random(f"{seed} copies")
        self.spoil_rng = random.Random(f"{seed} spoils")
        self.rest_rng = random.Random(f"{seed} rests")
        self.is_resting = self.rest_rng.random() < RESTING
        self.is_calm = self.is_resting and self.rest_rng.random() < 0.7
        rng = self.rng
        size = size or rng.choice((3, 3, 5))
        self.judge = Judge()
        self.settings = Settings(
            election_ticks=6,
            heartbeat_ticks=rng.choice((1, 2)),
            lease_ticks=4,
            append_bytes_max=rng.choice((40, 200, 1000)),
            inflight_bytes_max=rng.choice((100, 400, 2000)),
            uncommitted_bytes_max=2000,
            window_bytes_max=rng.choice((100, 500, 5000)),
            window_entries_max=rng.choice((2, 8, 64)),
            range_bytes_max=rng.choice((60, 300)),
        )
        votes = dict.fromkeys(range(1, size + 1), True)
        self.servers = {
            server_id: Server(
                server_id,
                self.judge,
                self.settings,
                votes if server_id <= size else None,
                # An older version among them now and then.
                hibernates=self.is_resting and self.rest_rng.random() < 0.97,
            )
            for server_id in range(1, size + SPARE + 1)
        }
        self.judge.servers = self.servers
        self.now_ms = 0.0
        self.turn = 0
        self.events: list[tuple[float, int, Callable[..., None], tuple]] = []
        self.tick_ms = {server_id: TICK_MS * rng.uniform(0.92, 1.08) for server_id in self.servers}
        self.ticks_missed = Counter[int]()
        self.waiting: dict[int, list[tuple[int, bytes]]] = {
            server_id: [] for server_id in self.servers
        }
        """Frames that came while a server was paused."""
        self.blocked: set[tuple[int, int]] = set()
        self.slow: set[int] = set()
        """Whose disks are."""
        self.late: dict[int, float] = {}
        """So much later it gets what is sent to it, in milliseconds."""
        self.loss = rng.choice((0, 0, 0.02, 0.1, 0.3))
        self.replay = rng.choice((0, 0, 0.05, 0.3))
        self.delay_ms = rng.choice((1, 5, 20))
        self.straggle = rng.choice((0, 0.02, 0.1))
        self.is_faulty = True
        self.faults = Counter[str]()
        self.read_id = 0
        self.proposals = 0
        self.steps = 0

    # -- time

    def after(self, delay_ms: float, do: Callable[..., None], *arguments: object) -> None:
        self.turn += 1
        heapq.heappush(self.events, (self.now_ms + delay_ms, self.turn, do, arguments))

    def run_until(self, end_ms: float, is_done: Callable[[], bool] | None = None) -> bool:
        """Let time pass; say whether what was waited for came true."""
        while self.events and self.events[0][0] <= end_ms:
            self.now_ms, _, do, arguments = heapq.heappop(self.events)
            self.steps += 1
            do(*arguments)
            if is_done is not None and is_done():
                return True
        self.now_ms = end_ms
        return False

    def tick(self, server_id: int, start: int) -> None:
        server = self.servers[server_id]
        if server.starts != start or not server.is_up:
            return
        self.after(self.tick_ms[server_id], self.tick, server_id, start)
        if server.is_paused:
            self.ticks_missed[server_id] += 1
            return
        server.group.tick()
        self.pump(server)
        self.judge.rests(server, self.now_ms)
        if server.is_faulty:
            self.mend(server)

    # -- servers

    def start(self, server_id: int) -> None:
        server = self.servers[server_id]
        if server.is_up:
            return
        server.start()
        self.ticks_missed[server_id] = 0
        self.after(self.rng.random() * TICK_MS, self.tick, server_id, server.starts)

    def stop(self, server_id: int) -> None:
        server = self.servers[server_id]
        if server.is_up:
            self.faults["stop"] += 1
            server.stop(self.rng.randint(0, len(server.disk.pending)))
            self.waiting[server_id].clear()

    def resume(self, server_id: int, start: int) -> None:
        """Go on after a pause: time first, then what has come."""
        server = self.servers[server_id]
        if not server.is_up or server.starts != start or not server.is_paused:
            return
        server.is_paused = False
        if self.ticks_missed[server_id]:
            server.group.tick(self.ticks_missed.pop(server_id))
        waiting, self.waiting[server_id] = self.waiting[server_id], []
        for sender, frame in waiting:
            server.group.step(sender, frame)
        self.pump(server)

    def pump(self, server: Server) -> None:
        """Do all that a server has to do now."""
        turns = 0
        while (ready := server.group.ready()) is not None:
            turns += 1
            demand(turns < TURNS_MAX, "there is always something to do")
            for to, frame in server.perform(ready):
                self.send(server.id, to, frame)
        for to, frame in server.group.beats():
            self.send(server.id, to, frame)
        if server.disk.pending and not server.is_syncing:
            server.is_syncing = True
            took = 400.0 if server.id in self.slow else 1 + self.rng.random() * 10
            self.after(took, self.sync, server.id, server.starts, len(server.disk.pending))
        server.judge_now()

    def sync(self, server_id: int, start: int, count: int) -> None:
        """A sync has returned, of what had been written when it began."""
        server = self.servers[server_id]
        if not server.is_up or server.starts != start:
            return
        server.is_syncing = False
        number = server.disk.perform(count)
        if number:
            server.group.advance(number)
        self.pump(server)

    # -- network

    def send(self, sender: int, to: int, frame: bytes) -> None:
        demand(to in self.servers, "a frame to nobody")
        rng = self.rng
        copies = 1
        if self.is_faulty:
            if rng.random() < self.loss or (sender, to) in self.blocked:
                self.faults["loss"] += 1
                return
            copies += rng.random() < self.replay
            self.faults["replay"] += copies - 1
        for _ in range(copies):
            delay_ms = rng.random() * self.delay_ms + 0.1
            if self.is_faulty and rng.random() < self.straggle:
                delay_ms *= 40
                self.faults["reorder"] += 1
            if to in self.late:
                delay_ms += self.late[to]
            self.after(delay_ms, self.arrive, sender, to, frame)

    def arrive(self, sender: int, to: int, frame: bytes) -> None:
        server = self.servers[to]
        if not server.is_up:
            return
        if server.is_paused:
            self.waiting[to].append((sender, frame))
            return
        refused = server.group.step(sender, frame)
        demand(not refused or server.was_old, "an honest frame is refused")
        self.pump(server)

    # -- faults

    def fault(self) -> None:
        """Hurt something, and heal it later."""
        rng = self.rng
        if not self.is_faulty:
            return
        self.after(rng.uniform(50, 500) + self.lull_ms(0.5), self.fault)
        ids = list(self.servers)
        match rng.choice((
            "stop",
            "stop",
            "split",
            "split",
            "one way",
            "slow",
            "late",
            "pause",
            "all",
        )):
            case "stop":
                server_id = rng.choice(ids) if rng.random() < 0.5 else self.leader_id() or ids[0]
                self.stop(server_id)
                self.after(rng.choice((10, 200, 1500)), self.start, server_id)
            case "all" if rng.random() < 0.3:
                for server_id in ids:
                    self.stop(server_id)
                    self.after(rng.uniform(10, 300), self.start, server_id)
            case "split":
                self.split(rng.sample(ids, rng.randint(1, len(ids) - 1)))
            case "one way":
                self.faults["one way"] += 1
                some = set(rng.sample(ids, rng.randint(1, len(ids) - 1)))
                self.blocked = {(a, b) for a in some for b in ids}
                self.after(rng.uniform(100, 1500), self.blocked.clear)
            case "slow":
                self.faults["slow disk"] += 1
                self.slow = set(rng.sample(ids, rng.randint(1, 2)))
                self.after(rng.uniform(300, 1500), self.slow.clear)
            case "late":
                self.faults["late"] += 1
                self.late = {self.leader_id() or ids[0]: rng.uniform(50, 400)}
                self.after(rng.uniform(300, 1500), self.late.clear)
            case "pause":
                self.pause(rng.choice(ids) if rng.random() < 0.3 else self.leader_id() or ids[0])

    def lose(self) -> None:
        """Take a server's disk away, where enough others have what it had; now and then."""
        if not self.is_faulty:
            return
        self.after(self.loss_rng.uniform(100, 1500), self.lose)
        server_id = self.loss_rng.choice(list(self.servers))
        if self.may_lose(server_id):
            self.faults["lose"] += 1
            self.stop(server_id)
            self.servers[server_id].lose()
            self.after(self.loss_rng.choice((10, 200, 1500)), self.start, server_id)

    def may_lose(self, server_id: int) -> bool:
        """Whether, whoever counts as a voter anywhere, a majority has lost nothing even then."""
        lost = {it.id for it in self.servers.values() if it.disk.is_lost or it.is_old}
        spoiled = {it.id for it in self.servers.values() if it.is_faulty}
        # Its own as well: what it has proposed a moment ago may be on its way.
        views = [it.voters() for it in self.servers.values() if it.id not in lost]
        # Who can't read its state may begin anew at any moment.
        lost |= spoiled | {server_id}
        is_left = not spoiled or self.is_left(server_id)
        return is_left and all(len(view - lost) > len(view) // 2 for view in views if view)

    def spoil(self) -> None:
        """Let a server not be able to read its state, where another one has all; now and then."""
        if not self.is_faulty:
            return
        self.after(self.spoil_rng.uniform(100, 1500), self.spoil)
        server = self.servers[self.spoil_rng.choice(list(self.servers))]
        if self.may_spoil(server.id):
            self.faults["spoil"] += 1
            self.judge.seen["spoiled majority"] += self.is_majority_spoiled(server.id)
            self.stop(server.id)
            server.is_faulty = True
            self.after(self.spoil_rng.choice((10, 200, 1500)), self.start, server.id)

    def may_spoil(self, server_id: int) -> bool:
        """Whether another one has all, and enough are there for this one to begin anew then.

        Most may be spoiled at once, while nobody has lost anything.
        """
        hurt = {it.id for it in self.servers.values() if it.disk.is_lost or it.is_old}
        if hurt:
            hurt |= {it.id for it in self.servers.values() if it.is_faulty}
        hurt.add(server_id)
        views = [it.voters() for it in self.servers.values()]
        return self.is_left(server_id) and all(
            len(view - hurt) > len(view) // 2 for view in views if view
        )

    def is_left(self, without: int) -> bool:
        """Whether a server has all that is committed, and its state, whoever counts as a voter."""
        hurt = {it.id for it in self.servers.values() if it.disk.is_lost or it.is_old}
        views = [it.voters() for it in self.servers.values() if it.id not in hurt]
        return any(
            it.disk.last_index >= self.judge.committed_last
            and all(it.id in view for view in views if view)
            for it in self.servers.values()
            if it.id not in hurt and it.id != without and not it.is_faulty
        )

    def is_majority_spoiled(self, server_id: int) -> bool:
        spoiled = {it.id for it in self.servers.values() if it.is_faulty} | {server_id}
        voters = self.servers[server_id].voters()
        return len(voters & spoiled) > len(voters) // 2

    def mend(self, server: Server) -> None:
        """Do what who can't read its state does: lead no more, and begin anew when it may."""
        group = server.group
        if group.role is Role.LEADER and not group.transferee:
            self.judge.seen["spoiled leader"] += 1
            group.transfer(0)
            self.pump(server)
        elif group.role is Role.FOLLOWER and group.may_begin_anew:
            self.judge.seen["begins anew"] += 1
            self.stop(server.id)
            server.lose()
            self.start(server.id)

    def copy(self) -> None:
        """Copy a server's disk while it runs, to be put back later; now and then."""
        if self.is_faulty:
            leader = self.servers.get(self.leader_id())
            ids = leader.voters() if leader is not None else self.servers
            server = self.servers[self.copy_rng.choice(sorted(ids))]
            copy = server.disk.copied()
            self.after(self.copy_rng.uniform(50, 300), self.put_back, server, copy, TRIES)

    def put_back(self, server: Server, copy: Disk, tries: int) -> None:
        if not self.is_faulty:
            return
        if not self.may_put_back(server, copy):
            again = (self.put_back, server, copy, tries - 1) if tries else (self.copy,)
            self.after(self.copy_rng.uniform(2, 20), *again)
            return
        self.faults["old copy"] += 1
        had_index = server.disk.last_index
        self.stop(server.id)
        server.put_back(copy, had_index)
        self.after(self.copy_rng.choice((10, 200, 1500)), self.start, server.id)
        self.after(self.copy_rng.uniform(100, 600), self.copy)

    def may_put_back(self, server: Server, copy: Disk) -> bool:
        """Whether nothing rests on what the copy lacks, but for what its leader counts on.

        Nobody can know of more: with what a server has acknowledged to an earlier leader, or for
        whom it votes while it has not heard of its loss, more could be lost than acknowledgements.
        """
        leader = self.servers.get(self.leader_id())
        if leader is None or leader is server or copy.last_index >= server.disk.last_index:
            return False
        hurt = [it for it in self.servers.values() if it.disk.is_lost or it.is_old or it.is_faulty]
        if hurt or copy.is_lost:
            return False
        before = Server(server.id, Judge(), self.settings, server.votes_begun)
        before.disk = copy
        voters = leader.voters()
        members = [self.servers[it] for it in voters]
        # What is lost is made good by a majority without it.
        if server not in members or before.voters() != voters or len(voters) < 3:
            return False
        for it in members:
            follows = it.is_up and it.group.term == leader.group.term
            if not follows or it.group.leader != leader.id or it.voters() != voters:
                return False
            if it.disk.last_index < server.disk.snapshot.index or not all(
                it.disk.has(*entry) for entry in server.disk.entries.items()
            ):
                return False
        return True

    def split(self, some: list[int]) -> None:
        self.faults["split"] += 1
        leader = self.leader_id()
        if leader and self.rng.random() < 0.4:
            some = [leader]
        others = [server_id for server_id in self.servers if server_id not in some]
        self.blocked = {(a, b) for a in some for b in others}
        self.blocked |= {(b, a) for a, b in self.blocked}
        self.after(self.rng.uniform(100, 2000), self.blocked.clear)

    def pause(self, server_id: int) -> None:
        server = self.servers[server_id]
        if server.is_up and not server.is_paused:
            self.faults["pause"] += 1
            server.is_paused = True
            self.after(
                self.rng.choice((100, 350, 700, 1500)), self.resume, server_id, server.starts
            )

    # -- work

    def lull_ms(self, chance: float) -> float:
        """Return for how long nothing more happens: long enough to hibernate, now and then."""
        rng = self.rest_rng
        return rng.uniform(900, 2500) if self.is_calm and rng.random() < chance else 0.0

    def leaders(self) -> list[Server]:
        return [
            it
            for it in self.servers.values()
            if it.is_up and not it.is_paused and it.group.role is Role.LEADER
        ]

    def leader_id(self) -> int:
        """Return who leads the latest term; 0: nobody."""
        leaders = self.leaders()
        return max(leaders, key=lambda it: it.group.term).id if leaders else 0

    def work(self) -> None:
        rng = self.rng
        if not self.is_faulty:
            return
        self.after(rng.expovariate(1 / 25) + self.lull_ms(0.1), self.work)
        running = [it for it in self.servers.values() if it.is_up and not it.is_paused]
        if not running:
            return
        server = rng.choice(self.leaders() or running)
        chance = rng.random()
        if chance < 0.5:
            self.propose(server, rng.choice((1, 1, 3, 20)))
        elif chance < 0.78:
            for other in self.leaders() or [rng.choice(running)]:
                self.read(other)
                self.pump(other)
        elif chance < 0.86:
            self.change(server)
        elif chance < 0.92:
            self.faults["transfer"] += server.group.transfer(rng.choice((0, *self.servers)))
        else:
            server = rng.choice(running)
            if server.applied > server.group.snapshot_index and not server.is_faulty:
                self.faults["compact"] += 1
                index = rng.randint(server.group.snapshot_index + 1, server.applied)
                server.compact(index, server.group.tail(index) if index % 4 else index)
        self.pump(server)

    def propose(self, server: Server, count: int) -> None:
        for _ in range(count):
            if self.proposals < PROPOSALS_MAX:
                self.proposals += 1
                length = self.rng.choice((0, 3, 10, 40, 150))
                server.group.propose(b"%d " % self.proposals + bytes(length))

    def read(self, server: Server) -> None:
        self.read_id += 1
        self.judge.read_begins(self.read_id)
        server.group.read(self.read_id)

    def change(self, server: Server) -> None:
        rng = self.rng
        members = server.group.members
        if members is None:
            return
        learners = [server_id for server_id, votes in members.votes.items() if not votes]
        strangers = [server_id for server_id in self.servers if server_id not in members.votes]
        change = rng.choice(tuple(Change))
        server_id = rng.choice(list(self.servers))
        if change is Change.PROMOTE and learners:
            server_id = rng.choice(learners)
        elif change is Change.ADD_LEARNER and strangers:
            server_id = rng.choice(strangers)
        if change in {Change.REMOVE, Change.DEMOTE} and len(members.votes) - len(learners) < 3:
            return
        if change is not Change.ADD_LEARNER and self.has_unknown_loss(server):
            return
        was_changing = members.index > server.group.commit
        if server.group.change(change, server_id):
            self.faults[change.name.lower()] += 1
            self.judge.changes(server, was_changing=was_changing)

    def has_unknown_loss(self, leader: Server) -> bool:
        """Whether a member has lost something, and its leader may not have heard of it."""
        if any(it.is_faulty or it.is_old for it in self.servers.values()):
            return True
        peers = [leader.group.peer(it.id) for it in self.servers.values() if it.disk.is_lost]
        return not all(it is None or it.is_lost for it in peers)

    # -- a whole run

    def run(self) -> Cluster:
        """Let anything happen, then heal everything, and see that all go on."""
        for server_id in self.servers:
            self.start(server_id)
        self.after(0, self.work)
        self.after(self.rng.uniform(0, 800), self.fault)
        if self.loss_rng.random() < LOSING:
            self.after(self.loss_rng.uniform(0, 2000), self.lose)
        if self.spoil_rng.random() < SPOILING:
            self.after(self.spoil_rng.uniform(0, 2000), self.spoil)
        self.after(self.copy_rng.uniform(100, 600), self.copy)
        self.run_until(FAULTY_MS)
        self.heal()
        is_done = self.run_until(self.now_ms + QUIET_MS, self.agree)
        demand(is_done, f"no agreement: {self.state()}")
        self.judge.seen["restored"] += sum(it.disk.restored for it in self.servers.values())
        return self

    def heal(self) -> None:
        self.is_faulty = False
        for faults in (self.blocked, self.slow, self.late):
            faults.clear()
        for server_id, server in self.servers.items():
            if server.is_up:
                self.resume(server_id, server.starts)
            self.start(server_id)
        self.last_proposal = (0, 0)
        self.reads_before = self.judge.reads_done

    def agree(self) -> bool:
        """Whether all members have applied what a leader proposed after the faults."""
        leaders = self.leaders()
        if not leaders:
            return False
        leader = max(leaders, key=lambda it: it.group.term)
        group = leader.group
        if self.last_proposal[0] != group.term:
            index = group.propose(b"last")
            if index:
                self.last_proposal = (group.term, index)
                self.pump(leader)
            return False
        members = group.members
        assert members is not None
        if any(
            self.servers[server_id].applied < self.last_proposal[1]
            or self.servers[server_id].disk.is_lost
            or self.servers[server_id].is_faulty
            for server_id in members.votes
        ):
            return False
        self.read(leader)
        self.pump(leader)
        return self.judge.reads_done > self.reads_before

    def state(self) -> str:
        """Say how all servers stand, for people."""
        return "; ".join(
            f"{server_id}: {it.group.role.name} term {it.group.term} of {it.group.leader}"
            f" last {it.group.last_index} commit {it.group.commit} applied {it.applied}"
            f" members {it.group.members and it.group.members.votes}"
            for server_id, it in self.servers.items()
            if it.is_up
        )
