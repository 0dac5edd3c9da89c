"""One server of a simulated cluster: its disk to the byte, its log, its replicated groups."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from framework_jetstream.log import Effect, Kind, Log
from framework_jetstream.raft.records import Role
from framework_jetstream.replication._replicaface import Replicas
from raft_judge import UNWATCHED_MS_MAX, demand

from framework.testing.simulation import SimulatedDisk

if TYPE_CHECKING:
    from framework_jetstream.log.record import Entry
    from framework_jetstream.raft.records import FrameRefused, Settings

FILE_BYTES = 1 << 15
GROUPS = 1, 2
"""Their numbers at all servers; each server's log numbers them itself."""
NOTHING = b"\0" * 16


@dataclass
class Judge:
    """What all servers together have applied, and what clients were told."""

    entries: dict[tuple[int, int], tuple[int, int, list[bytes]]] = field(default_factory=dict)
    """By group and index: term, kind and parts."""
    chains: dict[tuple[int, int], bytes] = field(default_factory=dict)
    """By group and index: a digest of all that was applied up to there."""
    told: dict[int, int] = field(default_factory=dict)
    """By group: the last index of which a client was told that it is stored."""
    leaders: dict[tuple[int, int], int] = field(default_factory=dict)
    """By group and term."""
    reads_done: int = 0
    hibernates: int = 0
    unwatched: dict[tuple[int, int], float] = field(default_factory=dict)
    """By server and group: since when it rests on others who are not what it takes them for."""
    servers: dict[int, ReplicaServer] = field(default_factory=dict)

    def rests(self, server: ReplicaServer, now_ms: float) -> None:
        """Who hibernates rests on others for no longer than it takes to see that they are gone."""
        for group, number in server.numbers.items():
            self.hibernates += server.replicas.is_hibernating(number)
            if not self._is_unwatched(server, group):
                self.unwatched.pop((server.id, group), None)
                continue
            since_ms = self.unwatched.setdefault((server.id, group), now_ms)
            demand(now_ms - since_ms < UNWATCHED_MS_MAX, f"{server.id} rests on who is gone")

    def _is_unwatched(self, server: ReplicaServer, group: int) -> bool:
        if not server.rests(group):
            return False
        term = server.replicas.state(server.numbers[group])[0]
        there = [
            it
            for it in self.servers.values()
            if it.is_up and not it.is_paused and it.replicas.state(it.numbers[group])[0] == term
        ]
        if server.replicas.role(server.numbers[group]) is Role.LEADER:
            return not all(it in there and it.rests(group) for it in self.servers.values())
        return not any(it.replicas.role(it.numbers[group]) is Role.LEADER for it in there)

    def applies(self, group: int, entry: Entry, chain: bytes) -> None:
        it = entry.term, entry.kind, entry.parts
        demand(self.entries.setdefault((group, entry.index), it) == it, "logs differ")
        demand(
            self.chains.setdefault((group, entry.index), chain) == chain, "an entry was left out"
        )

    def leads(self, group: int, term: int, server: int) -> None:
        demand(self.leaders.setdefault((group, term), server) == server, "two leaders in a term")


@dataclass
class Stored:
    """What the entries of a group have led to at one server."""

    index: int = 0
    chain: bytes = NOTHING

    def apply(self, entry: Entry) -> None:
        """Take up an entry, or the state that entries before it have led to."""
        self.index = entry.index
        if entry.kind is Kind.SNAPSHOT:
            self.chain = entry.parts[0][:16]
            return
        digest = hashlib.blake2b(self.chain, digest_size=16)
        for part in (b"%d" % entry.kind, *entry.parts):
            digest.update(part)
        self.chain = digest.digest()


class ReplicaServer:
    """A server that may lose its power, or be killed, at any moment.

    Args:
        server_id: Its number.
        settings: Of its groups.
        votes: Of all members at the start.
        seeded: A seed, and a mistake that it makes: "not synced", "a state is not kept", or none.
        hibernates: Whether its groups may.
    """

    def __init__(
        self,
        server_id: int,
        judge: Judge,
        settings: Settings,
        votes: dict[int, bool],
        seeded: tuple[int, str],
        *,
        hibernates: bool = False,
    ) -> None:
        seed, self.mistake = seeded
        self.hibernates = hibernates
        self.id = server_id
        self.judge = judge
        self.settings = settings
        self.votes = votes
        self.rng = random.Random(f"{seed} disk {server_id}")
        self.disk = SimulatedDisk(seed * 31 + server_id)
        self.starts = 0
        self.is_up = False
        self.is_paused = False
        self.is_faulty = False
        """Whether it can't read its state: only engines have one."""
        self.round: list[tuple] | None = None
        """What is being done on the disk."""
        self.frames: list[tuple[int, bytes]] = []
        """That came while the log was busy."""
        self.rounds = 0
        """Done on the disk."""
        self.is_hurt = False
        """Its disk has ever lost something."""
        self.lacks = False
        """Something is lost, or may be after the next start."""
        self.whole_after = 0
        """So many rounds have to be done until it does not; 0: it is not known yet."""
        self.proposed: dict[tuple[int, int], int] = {}
        """By group and index: the term in which a client's entry was proposed here."""

    # -- as the cluster drives a group

    @property
    def group(self) -> ReplicaServer:
        return self

    @property
    def role(self) -> Role:
        """Return what it is in the first group."""
        return self.replicas.role(self.numbers[GROUPS[0]])

    @property
    def term(self) -> int:
        return self.replicas.state(self.numbers[GROUPS[0]])[0]

    def rests(self, group: int) -> bool:
        """Return whether a group hibernates here."""
        return self.replicas.is_hibernating(self.numbers[group])

    def tick(self, ticks: int = 1) -> None:
        self.replicas.tick(ticks)

    def step(self, sender: int, frame: bytes) -> FrameRefused | int:
        if self.replicas.is_blocked or self.frames:
            self.frames.append((sender, frame))
            return 0
        return self.replicas.step(sender, frame)

    # -- stops and starts

    def start(self) -> None:
        """Go on with what is on the disk."""
        self.starts += 1
        self.log = Log(file_bytes=FILE_BYTES, round_bytes_max=1 << 12, salt=77)
        names = [name for name in self.disk.names() if name.endswith(".log")]
        for name in sorted(names):
            data = self.disk.read(name)
            self.log.load(int(name[:-4]), len(data))[:] = data
        self.log.recover()
        is_known = self.is_hurt or not self.log.damage
        demand(is_known, f"damage is reported where none is: {self.log.damage}")
        self._settle()
        self.numbers = {
            int(state.description): number
            for number in self.log.groups()
            if (state := self.log.group(number)) is not None and state.description
        }
        for group in GROUPS:
            if group not in self.numbers:
                number = self.log.new_group(b"%d" % group, has_lost=self.is_hurt)
                while not number:
                    self._settle()
                    number = self.log.new_group(b"%d" % group, has_lost=self.is_hurt)
                self.numbers[group] = number
        self._settle()
        self.groups = {number: group for group, number in self.numbers.items()}
        self.replicas = Replicas(
            self.log,
            server=self.id,
            seed=self.id * 11 + self.starts,
            settings=self.settings,
            hibernates=self.hibernates,
        )
        self.stored = {group: Stored() for group in GROUPS}
        for group, number in self.numbers.items():
            self.replicas.open(number, group, self.votes)
        self._apply()
        self.replicas.begin()
        self.is_up, self.is_paused, self.round = True, False, None
        self.frames.clear()
        self.proposed.clear()

    def lose(self) -> str:
        """Stop when all is on the disk, and lose something of it then; return what."""
        if self.round is not None:
            self.end_round()
        self.log.sync()
        self._settle()
        self.is_up = False
        del self.replicas, self.log
        self.is_hurt = self.lacks = True
        self.whole_after = 0
        if self.rng.random() < 0.4:
            self.disk = SimulatedDisk(self.rng.randrange(1 << 30))
            return "wipe"
        for _ in range(self.rng.choice((1, 1, 5))):
            name = self.rng.choice([it for it in self.disk.names() if it.endswith(".log")])
            length = len(self.disk.read(name).rstrip(b"\0"))
            if length:
                self.disk.flip(name, self.rng.randrange(length), self.rng.randrange(8))
        return "flip"

    def _look_at_losses(self) -> None:
        """Find out whether all is whole again, and durable."""
        if any(self.replicas.is_lost(number) for number in self.numbers.values()):
            self.whole_after = 0
        elif not self.whole_after:
            self.whole_after = self.rounds + 2
        elif self.rounds >= self.whole_after:
            self.lacks = False

    def _settle(self) -> None:
        while (effects := self.log.take_round()) is not None:
            for effect in effects:
                self._perform(effect)
            self.log.round_done()

    def stop(self) -> None:
        """Stop in the middle of a write, with the power or without."""
        self.is_up = False
        if self.round is not None:
            for effect in self.round[: self.rng.randint(0, len(self.round))]:
                self._perform(effect)
        if self.rng.random() < 0.7:
            self.disk.crash()
        del self.replicas, self.log

    # -- the disk

    def _perform(self, effect: tuple) -> None:
        match effect:
            case (Effect.RENAME, old, new):
                self.disk.rename(f"{old:010}.log", f"{new:010}.log")
            case (Effect.ALLOCATE, number, length):
                self.disk.allocate(f"{number:010}.log", length)
            case (Effect.SYNC_DIRECTORY,):
                self.disk.sync_directory()
            case (Effect.WRITE, number, offset, data):
                self.disk.write(f"{number:010}.log", offset, data)
            case (Effect.SYNC, number) if self.mistake != "not synced":
                self.disk.sync(f"{number:010}.log")
            case (Effect.REMOVE, number):
                self.disk.remove(f"{number:010}.log")

    def begin_round(self) -> bool:
        """Take what is to be done on the disk; False: nothing, or it is at it."""
        if self.round is None:
            self.round = self.log.take_round()
            return self.round is not None
        return False

    def end_round(self) -> None:
        assert self.round is not None
        for effect in self.round:
            self._perform(effect)
        self.round = None
        self.rounds += 1
        self.log.round_done()

    # -- a turn

    def turn(self) -> list[tuple[int, bytes]]:
        """Do what is to be done now; return what is to be sent."""
        sent = self.replicas.turn()
        while self.frames and not self.replicas.is_blocked:
            sender, frame = self.frames.pop(0)
            demand(not self.replicas.step(sender, frame), "an honest frame is refused")
            sent += self.replicas.turn()
        self._apply()
        sent += self.replicas.turn()
        if self.lacks:
            self._look_at_losses()
        for group, number in self.numbers.items():
            if self.replicas.role(number) is Role.LEADER:
                demand(not self.replicas.is_lost(number), "leads, and has lost something")
                self.judge.leads(group, self.replicas.state(number)[0], self.id)
        return sent

    def _apply(self) -> None:
        for entry in self.replicas.committed():
            if entry.kind is Kind.GROUP:
                continue
            if self.is_hurt and entry.group not in self.groups:
                continue  # what said whose they are is lost
            group = self.groups[entry.group]
            stored = self.stored[group]
            demand(entry.index > stored.index, "an entry is applied twice")
            stored.apply(entry)
            if entry.kind is Kind.SNAPSHOT:
                known = self.judge.chains.get((group, entry.index), stored.chain)
                demand(known == stored.chain, "a state that no entries led to")
                continue
            self.judge.applies(group, entry, stored.chain)
            if self.proposed.pop((group, entry.index), 0) == entry.term:
                self.judge.told[group] = max(self.judge.told.get(group, 0), entry.index)

    # -- work

    def propose(self, group: int, parts: list[bytes], kind: Kind = Kind.BATCH) -> int:
        index = self.replicas.propose(self.numbers[group], kind, parts)
        if index:
            self.proposed[group, index] = self.replicas.state(self.numbers[group])[0]
        return index

    def compact(self, group: int) -> None:
        """Keep what entries have led to, and let go of files that no group needs any more."""
        stored = self.stored[group]
        state = stored.chain + bytes(self.rng.randint(0, 400))
        if self.mistake == "a state is not kept":
            state = NOTHING + state
        if stored.index:
            tail_bytes_max = stored.index % 3 * FILE_BYTES
            self.replicas.snapshot(self.numbers[group], stored.index, state, tail_bytes_max)
        self.log.trim(self.log.file)
