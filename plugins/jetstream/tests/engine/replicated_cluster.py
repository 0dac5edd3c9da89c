"""A stream and a consumer of three servers, with engines, logs and disks, all by a seed.

One of them again: `ReplicatedCluster(SEED).run()`. Time, network and faults are those of
`raft_cluster.py`.

What was acknowledged is there at all servers, with its sequence, once, in order; what somebody was
told is deleted is not; all have the same. A message whose acknowledgement was answered does not
come again. And all along entries have led to the same at each server that has applied as many.
"""

from __future__ import annotations

import random
import struct
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent.parent / "raft"))

from framework_jetstream.engine.verbs import GroupOf, Verb
from framework_jetstream.log import Effect
from framework_jetstream.log.record import Kind
from framework_jetstream.raft.records import MessageKind
from msgspec.structs import replace
from raft_cluster import FAULTY_MS, LOSING, QUIET_MS, Cluster
from raft_judge import BrokenError, demand
from replicated_server import Judge, ReplicatedServer, payload_of
from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from planted import Planted

MESSAGES_MAX = 300
SMALL = 90
"""Bytes of a message that no configuration refuses."""
SEGMENTS = b"WSEG", b"WSGO"
"""With one of these a state in segments begins, on its way."""
FRAME_HEAD, MESSAGE_HEAD = struct.Struct("<IHHIIQQ"), struct.Struct("<IBBHIIQQQQQQ")
AGAIN_MS = 1000
"""So long a client waits before it publishes a message once more."""


def as_older(frame: bytes) -> bytes:
    """Return a frame as it is understood, or sent, by who begins anew with each state.

    That version asks nobody what entries have led to, and does not answer it; nor does it say what
    it takes up.
    """
    made = bytearray(frame)
    at = FRAME_HEAD.size
    while at < len(made):
        length, kind, *middle, context = MESSAGE_HEAD.unpack_from(made, at)
        if kind in {MessageKind.SNAPSHOT_FETCH, MessageKind.APPEND, MessageKind.BEAT}:
            MESSAGE_HEAD.pack_into(made, at, length, kind, *middle, 0)
        elif kind == MessageKind.APPEND_RESPONSE and not middle[0]:
            MESSAGE_HEAD.pack_into(made, at, length, kind, *middle[:-2], 0, 0, context)
        at += length
    return bytes(made)


def answers_in(frame: bytes) -> Iterator[int]:
    """Return the index of each message of a frame that says what entries have led to there."""
    at = FRAME_HEAD.size
    while at < len(frame):
        length, kind, flags, *_, log_term, index, _ = MESSAGE_HEAD.unpack_from(frame, at)
        if kind == MessageKind.APPEND_RESPONSE and not flags and log_term:
            yield index
        at += length


class BeyondRepairError(BrokenError):
    """Servers don't agree, and can't: too much is lost at once."""


class ReplicatedCluster(Cluster):
    """Servers with the same stream, and the world between them.

    Args:
        seed: Chooses everything.
        mistake: Is made by all servers; see `ReplicatedServer`.
        grows: The same.
        scrubs: The same.
        hides: Whether servers may lose something while others have damage that is not found yet.
    """

    def __init__(
        self,
        seed: int,
        mistake: str = "",
        *,
        grows: bool = False,
        scrubs: bool = False,
        hides: bool = False,
    ) -> None:
        super().__init__(seed, 3)
        self.settings = replace(
            self.settings,
            append_bytes_max=20 * self.settings.append_bytes_max,
            inflight_bytes_max=20 * self.settings.inflight_bytes_max,
            uncommitted_bytes_max=40_000,
            window_bytes_max=20 * self.settings.window_bytes_max,
            unapplied_bytes_max=5_000 if seed % 3 else 1 << 26,
            entry_bytes_max=20_000 if seed % 2 else 1 << 26,
            range_bytes_max=20 * self.settings.range_bytes_max,
            compare_ticks=random.Random(f"{seed} compare").choice((8, 20, 50, 24_000)),
            takes=Kind.COMPRESSED,
        )
        self.judge = Judge()
        self.servers = {
            server_id: ReplicatedServer(
                server_id, self.judge, self.settings, (seed, mistake), grows=grows, scrubs=scrubs
            )
            for server_id in (1, 2, 3)
        }
        self.grows = grows
        self.finds_all = scrubs or hides
        other = random.Random(f"{seed} version")
        self.older = {it for it in self.servers if seed % 4 == 0 and other.random() < 0.5}
        """Servers of a version that begins anew with each state, and takes nothing compressed."""
        for it in self.older:
            self.servers[it].settings = replace(self.settings, takes=0)
        self.answers = Counter[tuple[int, int]]()
        """By who has told whom: the last entry of which it said what it has led to."""
        self.planted: Planted | None = None
        """What one server applies otherwise than the others."""
        self.waiting = {server_id: [] for server_id in self.servers}
        self.reading: set[int] = set()
        """Servers that look soon whether bytes of segments are wanted."""
        self.published = 0
        self.proposed = 0
        self.grows_ms = self.rng.uniform(0, FAULTY_MS)
        self.seen = Counter[str]()
        self.states: dict[int, dict[int, bytes]] = {}

    # -- servers

    @override
    def tick(self, server_id: int, start: int) -> None:
        server = self.servers[server_id]
        if server.starts != start or not server.is_up:
            return
        self.after(self.tick_ms[server_id] / 2, self.tick, server_id, start)
        if server.is_paused:
            self.ticks_missed[server_id] += 1
            return
        server.tick()
        if server.lacks:
            server.look_at_losses()
        if server.grows and self.now_ms > self.grows_ms:
            server.grow()
        self.pump(server)

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
        if self.faults["segment"] and not self.finds_all:
            return  # it is not found before somebody reads what is lost: all others count
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

    def plant(self, planted: Planted) -> None:
        """Let a server apply an entry otherwise than the others; none is compressed then."""
        self.planted = planted
        for server in self.servers.values():
            server.compressed_from = 1 << 20

    @override
    def pump(self, server: ReplicatedServer) -> None:
        """Do all that a server has to do now, and let its disk work."""
        first = server.log.first_file
        for to, frame in server.turn():
            self.seen["fetch"] += any(it in frame for it in SEGMENTS)
            sent = frame if self.planted is None else self.planted.frame(to, frame)
            made = sent if self.older.isdisjoint((server.id, to)) else as_older(sent)
            for index in answers_in(made):
                self.seen["answered"] += 1
                self.answers[server.id, to] = max(index, self.answers[server.id, to])
            self.send(server.id, to, made)
        self.seen["trim"] += 0 < first < server.log.first_file
        if server.begin_round():
            took = 400.0 if server.id in self.slow else 1 + self.rng.random() * 10
            self.after(took, self.end_round, server, server.starts)
        if server.begin_job():
            self.after(1 + self.rng.random() * 20, self.end_job, server, server.starts)
        if server.id not in self.reading:
            self.reading.add(server.id)
            self.after(self.rng.random() * 5, self.read_back, server)

    def end_job(self, server: ReplicatedServer, start: int) -> None:
        if server.is_up and server.starts == start:
            self.seen["save"] += any(it[0] == Effect.WRITE for it in server.job)
            server.end_job()
            if not server.is_paused:
                self.pump(server)

    def read_back(self, server: ReplicatedServer) -> None:
        """Let who waits for bytes of segments have some."""
        self.reading.discard(server.id)
        if server.is_up and not server.is_paused and server.jobs.read():
            self.seen["read"] += 1
            self.pump(server)

    def end_round(self, server: ReplicatedServer, start: int) -> None:
        if server.is_up and server.starts == start:
            server.end_round()
            if not server.is_paused:
                self.pump(server)

    @override
    def leaders(self) -> list[ReplicatedServer]:
        return [
            it for it in self.servers.values() if it.is_up and not it.is_paused and it.leads_stream
        ]

    @override
    def leader_id(self) -> int:
        leaders = self.leaders()
        return self.rng.choice(leaders).id if leaders else 0

    # -- work

    @override
    def work(self) -> None:
        if not self.is_faulty:
            return
        self.after(self.rng.expovariate(1 / 25), self.work)
        for server in self.leaders():
            self.work_with_stream(server)
            self.pump(server)
        for server in self.servers.values():
            if server.is_up and not server.is_paused and server.leads_consumer:
                self.work_with_consumer(server)
                self.pump(server)
            if server.is_up and not server.is_paused:
                self.work_with_control(server)
                self.pump(server)

    def work_with_stream(self, server: ReplicatedServer) -> None:
        rng = self.rng
        if rng.random() < 0.05 and self.judge.acked:
            server.delete(rng.choice(sorted(self.judge.acked.values())))
            self.seen["delete"] += 1
        elif rng.random() < 0.05 and not server.asked and not server.is_changing:
            server.update()
        elif self.published < MESSAGES_MAX:
            numbers = []
            for _ in range(rng.choice((1, 1, 3, 10))):
                if self.published and rng.random() < 0.25:
                    numbers.append(rng.randrange(self.published))
                else:
                    numbers.append(self.published)
                    self.published += 1
            server.publish(numbers)

    def store(self, server: ReplicatedServer, count: int) -> None:
        """Publish so many messages to a server, and let time pass."""
        server.publish(list(range(self.published, self.published + count)))
        self.published += count
        self.pump(server)
        self.run_until(self.now_ms + 200)

    def work_with_consumer(self, server: ReplicatedServer) -> None:
        if self.rng.random() < 0.5:
            server.pull()
        elif server.delivered:
            server.acknowledge(self.rng.choice(sorted(server.delivered)))
            self.seen["acknowledge"] += 1

    def work_with_control(self, server: ReplicatedServer) -> None:
        if server.leads_control and self.rng.random() < 0.5:
            self.proposed += 1
            server.propose(b"%d " % self.proposed + b"y" * self.rng.choice((0, 10, 500)))
        elif self.rng.random() < 0.1:
            server.compact()
            self.seen["compact"] += 1
        elif self.rng.random() < 0.02:
            group, number = self.rng.choice((
                (GroupOf.STREAM, server.stream),
                (GroupOf.CONSUMER, server.consumer),
                (GroupOf.CONTROL, server.control),
            ))
            server.ask(Verb.STEP_DOWN, number, numbers=(group, self.rng.choice((0, 1, 2, 3))))
            self.seen["step down"] += 1

    # -- the end

    @override
    def heal(self) -> None:
        super().heal()
        self.last = -1
        self.last_ms = 0.0

    @override
    def agree(self) -> bool:
        """Whether what a leader stored after the faults is at all servers."""
        if any(it.waiting or it.lacks for it in self.servers.values()):
            return False  # what was asked before the end may still happen
        if self.last not in self.judge.acked:
            leaders = self.leaders()
            if leaders and self.now_ms > self.last_ms + AGAIN_MS:
                if self.last < 0:
                    while len(payload_of(self.published)) > SMALL:
                        self.published += 1
                    self.last = self.published
                    self.published += 1
                self.last_ms = self.now_ms
                leaders[-1].publish([self.last])
                self.pump(leaders[-1])
            return False
        last_seq = self.judge.acked[self.last]
        for server in self.servers.values():
            if server.id not in self.states and self.last_seq_of(server) >= last_seq:
                found = self.messages_of(server, last_seq)
                if self.is_whole(server):
                    self.states[server.id] = found
        return len(self.states) == len(self.servers) and all(
            it.applied >= max(self.judge.entries, default=0) for it in self.servers.values()
        )

    def answer_of(
        self, server: ReplicatedServer, verb: Verb, *numbers: int, number: int = 0
    ) -> tuple[int, tuple[int, ...], bytes]:
        """Return what a server answers at once; a status of -1: it waits for others."""
        said: list[tuple[int, tuple[int, ...], bytes]] = []
        server.ask(verb, number or server.stream, lambda *it: said.append(it), numbers=numbers)
        for _ in range(50):
            if said:
                break
            server.jobs.read()
            self.pump(server)
        return said[0] if said else (-1, (0,) * 16, b"")

    def last_seq_of(self, server: ReplicatedServer) -> int:
        return self.answer_of(server, Verb.STREAM_STATE)[1][4]

    def is_whole(self, server: ReplicatedServer) -> bool:
        """Whether a server misses nothing of the stream that it knows of."""
        numbers = self.answer_of(server, Verb.GROUP_STATE, GroupOf.STREAM)[1]
        self.seen["found"] += numbers[12]
        return not numbers[12] and not numbers[13]

    def messages_of(self, server: ReplicatedServer, last_seq: int) -> dict[int, bytes]:
        found = {}
        for seq in range(1, last_seq + 1):
            status, numbers, data = self.answer_of(server, Verb.GET_MESSAGE, seq, 0)
            demand(status >= 0 or server.is_hurt, f"no answer to {Verb.GET_MESSAGE.name}")
            if status == 0:
                found[seq] = data[numbers[2] + numbers[3] :]
        return found

    def check(self) -> None:
        """What was told is so, at all servers."""
        first = self.states[1]
        demand(all(it == first for it in self.states.values()), "servers have other messages")
        for number, seq in self.judge.acked.items():
            demand(seq in first or seq in self.judge.gone, f"acknowledged message {number} is lost")
            demand(
                seq not in first or first[seq].startswith(b"%d " % number),
                f"sequence {seq} is another message than {number}",
            )
        unserved = {it for it, count in self.judge.unserved.items() if count == self.judge.sent[it]}
        demand(
            unserved.isdisjoint(int(it.split()[0]) for it in first.values()),
            "a message is stored of which its publisher was told that nobody does",
        )
        demand(self.judge.deleted.isdisjoint(first), "a deleted message is there")
        numbers = [int(it.split()[0]) for it in first.values()]
        demand(len(numbers) == len(set(numbers)), "a message is stored twice")

    def compare(self) -> None:
        """See that all that can tell who leads what the last entry has led to."""
        able = set(self.servers) - self.older
        last = self.answer_of(self.servers[1], Verb.GROUP_STATE, GroupOf.STREAM)[1][2]

        def is_told() -> bool:
            return any(
                leader.id not in able
                or not leader.digest
                or all(self.answers[it, leader.id] >= last for it in able - {leader.id})
                for leader in self.leaders()
            )

        is_compared = self.run_until(self.now_ms + QUIET_MS, is_told)
        demand(is_compared, f"{last} is not compared: {self.answers}, {self.state()}")

    def why_not(self) -> str:
        """Say why servers can't agree, whatever they do; nothing: they could.

        A majority has to remember what it has acknowledged, and a server has to have all that
        clients were told of, with a state that can be read.
        """
        numbers = [it for it, seq in self.judge.acked.items() if seq not in self.judge.gone]
        on_disks = {it.id: it.on_disk(numbers) for it in self.servers.values()}
        gone = set(numbers).difference(*on_disks.values())
        if gone:
            return f"{len(gone)} acknowledged messages are on no disk any more"
        for of in GroupOf:
            lost = [it.id for it in self.servers.values() if self.lacks(it, of)[1]]
            if len(lost) > len(self.servers) // 2:
                return f"{lost} have lost what they had acknowledged to the {of.name}'s group"
        whole = [
            it.id
            for it in self.servers.values()
            if on_disks[it.id].issuperset(numbers) and not any(self.lacks(it, GroupOf.STREAM))
        ]
        return "" if whole else "no server has all, nor can one get the rest"

    def lacks(self, server: ReplicatedServer, of: GroupOf) -> tuple[bool, bool]:
        """Return whether a server can't read its state in a group, and whether it lost entries."""
        number = {GroupOf.STREAM: server.stream, GroupOf.CONSUMER: server.consumer}
        numbers = self.answer_of(
            server, Verb.GROUP_STATE, of, number=number.get(of, server.control)
        )[1]
        return bool(numbers[12]), bool(numbers[13])

    def check_refused(self) -> None:
        """Nothing that is served is wrong, and servers say that something is lost."""
        is_said = False
        for server in self.servers.values():
            is_said = is_said or any(any(self.lacks(server, of)) for of in GroupOf)
            found = self.messages_of(server, self.last_seq_of(server))
            for number, seq in self.judge.acked.items():
                demand(
                    seq not in found or found[seq] == payload_of(number),
                    f"sequence {seq} is another message than {number}",
                )
        demand(is_said, f"no agreement, and nobody says why: {self.state()}")

    @override
    def run(self) -> Self:
        """Let anything happen, then heal everything, and see that all go on."""
        try:
            self._run()
        finally:
            for server in self.servers.values():
                server.engine = None  # with its pipes: this cluster goes when cycles are looked for
        return self

    def _run(self) -> None:
        for server_id in self.servers:
            self.start(server_id)
        self.after(0, self.work)
        self.after(self.rng.uniform(0, 800), self.fault)
        if not self.grows and self.loss_rng.random() < LOSING:
            self.after(self.loss_rng.uniform(0, 2000), self.lose)
        self.run_until(FAULTY_MS)
        self.heal()
        if not self.run_until(self.now_ms + QUIET_MS, self.agree):
            self.check_refused()
            if why := self.why_not():
                msg = f"no agreement, {why}: {self.state()}"
                raise BeyondRepairError(msg)
            demand(False, f"no agreement: {self.state()}")  # noqa: FBT003
        self.check()
        self.compare()
        told = self.judge
        self.seen += Counter(
            stored=len(told.acked),
            deleted=len(told.deleted),
            delivered=told.delivered,
            settled=len(told.settled),
            proposed=len(told.proposed),
            updated=told.updates,
            compared=told.compared,
            said=told.said,
            led=len(told.leaders),
            compressed=sum(
                it.compressed + it.engine.entries_compressed for it in self.servers.values()
            ),
            kept=sum(it.kept + it.engine.segments_kept for it in self.servers.values()),
            **{"read log": sum(it.engine.ranges_read for it in self.servers.values())},
        )

    @override
    def state(self) -> str:
        return "; ".join(
            f"{it.id}: {it.leads_stream} {it.leads_consumer} {self.is_whole(it)}"
            for it in self.servers.values()
        )
