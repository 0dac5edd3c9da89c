"""One server of a simulated cluster: its disk, its log, its engine with a stream and a consumer."""

from __future__ import annotations

import json
import random
import struct
import weakref
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fake_port import FakePort
from framework_jetstream.api.records import ConsumerConfig, StreamConfig
from framework_jetstream.api.saved import (
    SavedConsumer,
    SavedGroup,
    SavedStream,
    saved_from_text,
    text_of,
)
from framework_jetstream.consumer.terms import terms_of
from framework_jetstream.engine._engine import Engine
from framework_jetstream.engine._segment_jobs import SegmentJobs
from framework_jetstream.engine.link import EngineAnswer, replica_numbers
from framework_jetstream.engine.moving import Moving
from framework_jetstream.engine.refusals import refusal_texts
from framework_jetstream.engine.verbs import Event, GroupOf, Verb
from framework_jetstream.log import Effect, Log
from framework_jetstream.meta.assignments import Group, StreamAssignment
from framework_jetstream.meta.peers import peer_from_number
from framework_jetstream.recovery import restore
from framework_jetstream.store.folder import name_of, place_of
from framework_jetstream.stream.rules import limits_of
from msgspec.structs import replace
from raft_judge import demand

from framework.testing.simulation import SimulatedDisk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from framework_jetstream.api.saved import Restored
    from framework_jetstream.raft.records import Settings

SUBJECTS = b"s.>"
NEXT = b"$JS.API.CONSUMER.MSG.NEXT.S.C"
ACK = b"$JS.ACK.S.C.>"
PREFIX = b"peer."
STREAM_GROUP, CONSUMER_GROUP, CONTROL_GROUP = 77, 78, 79
CONTROL = 5
CONTROL_EVENTS = 1 << 44
STREAM_EVENTS = 1 << 43
STORE_EVENTS = -(1 << 41)
FILE_BYTES = 1 << 15
LOG_BYTES = 3 * FILE_BYTES
UNSAID_MAX_NS = 0, 50_000_000, 30_000_000_000
"""One is chosen: the log is told of a save at once, some time later, or when it needs that."""
TICK_NS = 25_000_000
TURNS_MAX = 10_000
SCRUB_BYTES_PER_S, SCRUB_INTERVAL_NS = 1 << 30, 200_000_000

STREAM_CONFIG = StreamConfig(
    name="S",
    subjects=["s.>"],
    num_replicas=3,
    duplicate_window=10**15,
    max_msgs=-1,
    max_msgs_per_subject=-1,
    max_bytes=-1,
    max_msg_size=-1,
)
CONSUMER_CONFIG = ConsumerConfig(
    durable_name="C",
    name="C",
    ack_policy="explicit",
    ack_wait=10**15,
    max_deliver=-1,
    max_waiting=512,
    max_ack_pending=1000,
)


def payload_of(number: int) -> bytes:
    """Return what a message has."""
    return b"%d " % number + b"x" * (number * 37 % 700)


def header_of(number: int) -> bytes:
    """Return what stands before that."""
    return b"NATS/1.0\r\nNats-Msg-Id: %d\r\n\r\n" % number


@dataclass
class Judge:
    """What clients were told by all servers together."""

    acked: dict[int, int] = field(default_factory=dict)
    """Sequence by number of the message."""
    gone: set[int] = field(default_factory=set)
    """Sequences of messages that may be deleted."""
    deleted: set[int] = field(default_factory=set)
    """Sequences of which somebody was told that they are."""
    settled: dict[int, int] = field(default_factory=dict)
    """By sequences whose acknowledgement was answered: the term of who answered last."""
    leaders: dict[tuple[int, int], int] = field(default_factory=dict)
    """By number and term."""
    entries: dict[int, bytes] = field(default_factory=dict)
    """Of the control group, by index."""
    proposed: set[int] = field(default_factory=set)
    """Indexes of entries that somebody was told are committed."""
    refused: int = 0
    sent: Counter[int] = field(default_factory=Counter)
    """How often a message was published."""
    unserved: Counter[int] = field(default_factory=Counter)
    """How often its publisher was told that nobody stores it there."""
    reads_done: int = 0
    delivered: int = 0
    updates: int = 0
    digests: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """Of the stream, by since when, and index: what it was, and at which server first."""
    compared: int = 0
    """How often another server had one for the same index."""
    differing: dict[int, set[int]] = field(default_factory=dict)
    """Servers of which one that leads the stream has said last that they have come to differ."""
    said: int = 0
    """How often one was said to."""
    lets_differ: bool = False
    """Whether one of them was made to."""
    config: StreamConfig = STREAM_CONFIG
    """What the stream is assigned as: who begins with nothing is told of that."""

    def stored(self, number: int, seq: int) -> None:
        first = self.acked.setdefault(number, seq)
        demand(self.lets_differ or first == seq, f"message {number} is stored twice")

    def led_to(self, server: int, since: int, index: int, digest: int) -> None:
        first, by = self.digests.setdefault((since, index), (digest, server))
        is_known = first == digest or self.lets_differ
        demand(is_known, f"servers {by} and {server} have come to differ at entry {index}")
        self.compared += by != server

    def says(self, server: int, others: set[int]) -> None:
        demand(self.lets_differ or not others, f"server {server} says that {sorted(others)} differ")
        self.differing[server] = others
        self.said += bool(others)

    def received(self, seq: int, payload: bytes) -> None:
        number = int(payload.split()[0])
        if self.lets_differ:
            return
        demand(payload == payload_of(number), f"sequence {seq} has other bytes")
        demand(self.acked.get(number, seq) == seq, f"message {number} is sequence {seq}")

    def delivered_by(self, seq: int, term: int) -> None:
        """Take up that a message came from who leads the consumer in a term.

        Who was cut off, and has not heard that another leads, may deliver what was settled there.
        """
        is_settled = self.settled.get(seq, term + 1) <= term
        demand(not is_settled, f"{seq} comes after its acknowledgement")
        self.delivered += 1

    def leads(self, number: int, term: int, server: int) -> None:
        demand(self.leaders.setdefault((number, term), server) == server, "two leaders in a term")


class ReplicatedServer:
    """A server that may lose its power, or be killed, at any moment.

    Args:
        server_id: Its number.
        settings: Of its groups.
        seeded: A seed, and a mistake that it makes: "not synced", "not followed", "segments are not
            synced", or none.
        grows: Whether stream and consumer are the first server's alone at first.
        scrubs: Whether it reads its files again and again though nobody wants them.
    """

    def __init__(
        self,
        server_id: int,
        judge: Judge,
        settings: Settings,
        seeded: tuple[int, str],
        *,
        grows: bool = False,
        scrubs: bool = False,
    ) -> None:
        self.seed, self.mistake = seeded
        self.grows = grows
        self.scrubs = (SCRUB_BYTES_PER_S, SCRUB_INTERVAL_NS) if scrubs else (0, 0)
        self.id = server_id
        self.judge = judge
        self.settings = settings
        self.rng = random.Random(f"{self.seed} disk {server_id}")
        self.disk = SimulatedDisk(self.seed * 31 + server_id)
        self.segment_disk = SimulatedDisk(self.seed * 37 + server_id)
        self.segment_bytes = self.rng.choice((1500, 6000, 1 << 20))
        self.small_bytes = random.Random(f"{self.seed} size").choice((0, 3000, 1 << 20))
        self.cache_bytes = self.rng.choice((0, 9000, 1 << 30))
        self.compressed_from = random.Random(f"{self.seed} compress").choice((64, 64, 1 << 20))
        self.unsaid_max_ns = random.Random(f"{self.seed} unsaid").choice(UNSAID_MAX_NS)
        self.starts = 0
        self.is_up = False
        self.is_paused = False
        self.now_ns = 10**9
        self.unix_ns = 10**18
        self.round: list[tuple] | None = None
        """What is being done on the disk."""
        self.job: list[tuple] | None = None
        """The same, with segments."""
        self.is_hurt = False
        """Its disk has ever lost something."""
        self.compressed = 0
        """Entries that its engines proposed compressed up to the last start."""
        self.kept = 0
        """Segments that its engines kept up to the last start, when a state was fetched."""
        self.lacks = False
        """Something is lost, or may be after the next start."""
        self.is_whole = False
        """Nothing was lost, and nothing waited for the disk, when that was looked at last."""

    # -- as the cluster drives a group

    @property
    def group(self) -> ReplicatedServer:
        return self

    def tick(self, ticks: int = 1) -> None:
        self.now_ns += ticks * TICK_NS
        self.unix_ns += ticks * TICK_NS

    def step(self, sender: int, frame: bytes) -> int:
        subject = PREFIX + b"%016x" % self.id
        self.peers.tell(sender, [(subject, subject, b"", b"", frame)])
        return 0

    @property
    def leads_stream(self) -> bool:
        return SUBJECTS in self.port.tags

    @property
    def leads_consumer(self) -> bool:
        return NEXT in self.port.tags

    # -- stops and starts

    def start(self) -> None:
        """Go on with what is on the disk."""
        self.starts += 1
        self.judge.differing.pop(self.id, None)
        self.engine = None  # it says to its ports that it ends
        self.port, self.peers = FakePort(), FakePort()
        self.log = Log(file_bytes=FILE_BYTES, round_bytes_max=1 << 13, salt=99)
        for name in sorted(it for it in self.disk.names() if it.endswith(".log")):
            data = self.disk.read(name)
            self.log.load(int(name[:-4]), len(data))[:] = data
        self.log.recover()
        is_known = self.is_hurt or not self.log.damage
        demand(is_known, f"the log is called damaged: {self.log.damage}")
        while (effects := self.log.take_round()) is not None:
            for effect in effects:
                self._perform(effect)
            self.log.round_done()
        self.engine = Engine(refusal_texts(), 7, b"", b"abcdefghijkl")
        self.engine.open(self.port.capsule())
        self.engine.use_log(self.log)
        self.engine.use_replicas(
            self.peers.capsule(),
            server=self.id,
            account=1,
            prefix=PREFIX,
            seed=self.seed * 7 + self.id * 11 + self.starts,
            settings=self.settings,
            compressed_from=self.compressed_from,
        )
        own = weakref.ref(self)
        self.jobs = SegmentJobs(lambda group, file: own().read(group, file))
        self.started_ns = self.unix_ns
        self.engine.use_segments(
            self.jobs,
            self.segment_bytes,
            self.small_bytes,
            self.cache_bytes,
            *self.scrubs,
            log_bytes=LOG_BYTES,
            unsaid_max_ns=self.unsaid_max_ns,
        )
        restored = restore(self.engine, self.log, own())
        is_known = self.is_hurt or not restored.damaged
        demand(is_known, f"a group is called damaged: {restored.damaged}")
        self.waiting: dict[int, Callable[[int, tuple[int, ...], bytes], object]] = {}
        self.asked_acks: dict[bytes, int] = {}
        self.delivered: dict[int, bytes] = {}
        self.after: list[Callable[[], object]] = []
        self.asked: set[str] = set()
        self.is_changing = False
        """What others are being added to."""
        self.is_up, self.is_paused, self.round, self.job = True, False, None, None
        self.stream, self.consumer = 1, 2
        self.control = restored.groups.get("C", CONTROL)
        self.applied, self.leads_control, self.consumer_term = 0, False, 0
        self.state = b""
        """What the entries of the control group have led to: all of them, one a line."""
        self.said_digests: tuple[int, list[tuple[int, int]]] | None = None
        self._go_on(restored)

    def _go_on(self, restored: Restored) -> None:
        """Go on with what was read, or begin."""
        self.config = self.judge.config
        founders = () if self.grows else (1, 2, 3)
        is_alone = self.grows and self.id == 1
        self.stream_members = None if is_alone else (STREAM_GROUP, *founders)
        self.consumer_members = None if is_alone else (CONSUMER_GROUP, *founders)
        for stream in restored.streams:
            self.stream = stream.number
            self.consumer = stream.number + 1
            self.stream_members = stream.saved.replicas or None
            self.config = stream.saved.config
            for consumer in stream.consumers:
                self.consumer = max(self.consumer, consumer.number)
                self.consumer_members = consumer.saved.replicas or None
        self.moving = [self._moving(GroupOf.STREAM), self._moving(GroupOf.CONSUMER)]
        self._open()

    def _moving(self, of: GroupOf) -> Moving:
        """Return what brings all servers into a group that began with one."""
        peers = tuple(peer_from_number(it) for it in (1, 2, 3))
        group = Group(name="G", peers=peers)
        found = StreamAssignment(account="A", name="S", created_ns=1, config=b"", group=group)
        number = self.stream if of is GroupOf.STREAM else self.consumer

        def ask(verb: Verb, numbers: tuple[int, ...], then: Callable[[EngineAnswer], object]):
            self.ask(verb, number, lambda *told: then(EngineAnswer(*told)), numbers=numbers)

        return Moving(
            of=of,
            ask=ask,
            assigned=lambda: found,
            moved=lambda *_: None,
            later=lambda _, then: self.after.append(then),
        )

    def grow(self) -> None:
        """Let the other servers have stream and consumer as well, if this one is to see to it."""
        if not self.grows:
            return
        is_free = "S" not in self.asked and not self.is_changing
        if self.stream_members is None and self.leads_stream and is_free:
            self.asked.add("S")
            self.open_stream((STREAM_GROUP, 1))
        if self.consumer_members is None and self.leads_consumer and "C" not in self.asked:
            self.asked.add("C")
            self.open_consumer((CONSUMER_GROUP, 1))
        after, self.after = self.after, []
        for then in after:
            then()
        for moving in self.moving:
            moving.look()

    def update(self) -> None:
        """Let messages be of another size from here on."""
        size = self.rng.choice((-1, 150, 300, 500))
        config = replace(self.config, max_msg_size=size)

        def told(status: int, *_: object) -> None:
            self.is_changing = False
            if status == 0:
                self.config = self.judge.config = config
                self.judge.updates += 1

        self.is_changing = True
        self.describe(Verb.UPDATE_STREAM, config, (1,), told)

    def describe(self, verb, config, numbers, then=lambda *_: None) -> None:
        saved = SavedStream("A", 1, config, replicas=self.stream_members or ())
        self.ask(
            verb,
            self.stream,
            then,
            numbers=numbers,
            limits=limits_of(config),
            first=b"S",
            second=SUBJECTS,
            third=text_of(saved),
        )

    def open_stream(self, replicas: tuple[int, ...] | None) -> None:
        """Open the stream, or let others be added to it."""

        def told(status: int, *_: object) -> None:
            self.asked.discard("S")
            if status == 0 and replicas:
                self.stream_members = replicas

        self.ask(
            Verb.OPEN_STREAM,
            self.stream,
            told,
            numbers=(1, 1, 0, 0, *replica_numbers(replicas or (), may_have_been=self.is_hurt)),
            limits=limits_of(self.config),
            first=b"S",
            second=SUBJECTS,
            third=text_of(SavedStream("A", 1, self.config, replicas=replicas or ())),
        )

    def open_consumer(self, replicas: tuple[int, ...] | None) -> None:
        """The same of the consumer."""

        def told(status: int, *_: object) -> None:
            self.asked.discard("C")
            if status == 0 and replicas:
                self.consumer_members = replicas

        self.ask(
            Verb.OPEN_CONSUMER,
            self.consumer,
            told,
            numbers=(
                self.stream,
                0,
                0,
                0,
                *replica_numbers(replicas or (), may_have_been=self.is_hurt),
            ),
            terms=terms_of(CONSUMER_CONFIG),
            first=b"C",
            second=b"\n",
            third=text_of(SavedConsumer("A", "S", 1, 1, CONSUMER_CONFIG, replicas or ())),
        )

    def _open(self) -> None:
        ids = replica_numbers((CONTROL_GROUP, 1, 2, 3), may_have_been=self.is_hurt)
        for peer in (1, 2, 3):
            self.engine.command(Verb.LINK_PEER, 0, numbers=(peer, peer))
        self.open_stream(self.stream_members)
        self.open_consumer(self.consumer_members)
        self.ask(
            Verb.OPEN_GROUP,
            self.control,
            numbers=(0, 0, 0, 0, *ids),
            third=text_of(SavedGroup("C", (CONTROL_GROUP, 1, 2, 3))),
        )

    def lose(self) -> str:
        """Stop when all is on the disk, and lose something of it then; return what."""
        if self.round is not None:
            self.end_round()
        self.log.sync()
        while self.begin_round():
            self.end_round()
        while self.begin_job():
            self.end_job()
        self.is_up = False
        self.kept += self.engine.segments_kept
        self.compressed += self.engine.entries_compressed
        self.engine = None
        del self.log, self.jobs
        self.is_hurt = self.lacks = True
        self.is_whole = False
        if self.segment_disk.names() and self.rng.random() < 0.3:
            for name in self.segment_disk.names():
                data = self.segment_disk.read(name)
                self.segment_disk.flip(name, self.rng.randrange(len(data)), self.rng.randrange(8))
            return "segment"
        if self.rng.random() < 0.4:
            self.disk = SimulatedDisk(self.rng.randrange(1 << 30))
            self.segment_disk = SimulatedDisk(self.rng.randrange(1 << 30))
            return "wipe"
        for _ in range(self.rng.choice((1, 1, 5))):
            name = self.rng.choice([it for it in self.disk.names() if it.endswith(".log")])
            length = len(self.disk.read(name).rstrip(b"\0"))
            if length:
                self.disk.flip(name, self.rng.randrange(length), self.rng.randrange(8))
        return "flip"

    def on_disk(self, numbers: Iterable[int]) -> set[int]:
        """Return those of some messages that its disk has, bit by bit, wherever that is."""
        data = b"\n".join(
            disk.read(name) for disk in (self.disk, self.segment_disk) for name in disk.names()
        )
        return {it for it in numbers if header_of(it) + payload_of(it) in data}

    def look_at_losses(self) -> None:
        """Find out whether all is whole again, and durable."""
        found: list[bool] = []

        def told(status: int, numbers: tuple[int, ...], _: bytes) -> None:
            found.append(status != 0 or bool(numbers[12] or numbers[13]))
            if len(found) < 3:
                return
            is_read = not self.scrubs[0] or self.engine.scrubs[1][0] > self.started_ns
            is_whole = not any(found) and self.round is None and is_read
            self.lacks = self.lacks and not (is_whole and self.is_whole)
            self.is_whole = is_whole

        for of, number in (
            (GroupOf.STREAM, self.stream),
            (GroupOf.CONSUMER, self.consumer),
            (GroupOf.CONTROL, self.control),
        ):
            self.ask(Verb.GROUP_STATE, number, told, numbers=(of,))

    def stop(self) -> None:
        """Stop in the middle of a write, with the power or without."""
        self.is_up = False
        if self.round is not None:
            for effect in self.round[: self.rng.randint(0, len(self.round))]:
                self._perform(effect)
        if self.job is not None:
            for effect in self.job[: self.rng.randint(0, len(self.job))]:
                self._perform_segment(effect)
        if self.rng.random() < 0.7:
            self.disk.crash()
            self.segment_disk.crash()
        self.kept += self.engine.segments_kept
        self.compressed += self.engine.entries_compressed
        self.engine = None
        del self.log, self.jobs

    # -- where segments are

    def files(self) -> list[tuple[int, int]]:
        return sorted(filter(None, map(place_of, self.segment_disk.names())))

    def read(self, group: int, file: int) -> bytes:
        disk = self.segment_disk if group else self.disk
        name = name_of(group, file) if group else f"{file:010}.log"
        return disk.read(name) if name in disk.names() else b""

    def keep(self, group: int, file: int) -> None:
        demand(self.is_hurt, f"segment {file} of {group} is called damaged")

    def remove(self, group: int, file: int) -> None:
        self.segment_disk.remove(name_of(group, file))

    def _perform_segment(self, effect: tuple) -> None:
        match effect:
            case (Effect.ALLOCATE, name, length):
                demand(name not in self.segment_disk.names(), "a segment is written twice")
                self.segment_disk.allocate(name, length)
            case (Effect.WRITE, name, offset, data):
                self.segment_disk.write(name, offset, data)
            case (Effect.SYNC, name) if self.mistake != "segments are not synced":
                self.segment_disk.sync(name)
            case (Effect.SYNC_DIRECTORY,):
                self.segment_disk.sync_directory()
            case (Effect.REMOVE, name) if name in self.segment_disk.names():
                self.segment_disk.remove(name)

    def begin_job(self) -> bool:
        """Take what is to be done with segments; False: nothing, or it is at it."""
        if self.job is None:
            self.job = self.jobs.take()
            return self.job is not None
        return False

    def end_job(self) -> None:
        assert self.job is not None
        for effect in self.job:
            self._perform_segment(effect)
        self.job = None
        self.jobs.done()

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
        self.log.round_done()

    # -- a turn

    def turn(self) -> list[tuple[int, bytes]]:
        """Do what is to be done now; return what is to be sent."""
        goes_on, turns = True, 0
        while goes_on:
            turns += 1
            assert turns < TURNS_MAX, "turns without end: nothing happens in them"
            self.now_ns += 1000
            goes_on = self.engine.turn(self.now_ns, self.unix_ns)
            self._hear()
        self._compare()
        sent = [(int(to[len(PREFIX) :], 16), frame) for to, _, _, frame in self.peers.said]
        self.peers.said.clear()
        return sent

    @property
    def digest(self) -> int:
        """What the stream's entries have led to; 0: nothing yet, or that can't be read."""
        found = self.engine.digests(self.stream)
        return found[1][0][1] if found is not None else 0

    def _compare(self) -> None:
        """Say what entries of the stream have led to, where that has changed."""
        found = self.engine.digests(self.stream)
        if found is None or found == self.said_digests:
            return
        self.said_digests = found
        for index, digest in found[1]:
            self.judge.led_to(self.id, found[0], index, digest)

    def _hear(self) -> None:
        for asked, status, numbers, data, _ in self.engine.answers():
            if asked == -(CONTROL_EVENTS + self.control):
                self._control(status, numbers, data)
            is_known = self.is_hurt or asked != STORE_EVENTS or status != Event.LOST
            demand(is_known, f"messages are lost: {numbers}")
            if asked < 0 and status == Event.UPDATE:
                self._follow(numbers[0], data)
            if asked < 0 and status == Event.DIFFERS:
                self.judge.says(self.id, {it for (it,) in struct.iter_unpack("=Q", data)})
            if asked == -(STREAM_EVENTS + self.stream) and status == Event.FOLLOWS:
                self.judge.differing.pop(self.id, None)
            if asked == -self.consumer:
                self._hear_consumer(status, numbers)
            if asked < 0 and status == Event.LEADS:
                self.judge.leads(
                    -asked % 2**43 if -asked < CONTROL_EVENTS else 0, numbers[0], self.id
                )
            elif asked in self.waiting:
                self.waiting.pop(asked)(status, numbers, data)
        for target, reply, _, payload in self.port.said:
            self._heard(target, reply, payload)
        self.port.said.clear()

    def _hear_consumer(self, event: int, numbers: tuple[int, ...]) -> None:
        if event == Event.LEADS:
            self.consumer_term = numbers[0]
        elif event == Event.WAITS:
            self.moving[1].look()

    def _follow(self, index: int, description: bytes) -> None:
        """Say what a description means; now, or after whatever comes meanwhile."""
        self.config = saved_from_text(description).config
        if self.mistake == "not followed":
            self.config = STREAM_CONFIG
        self.describe(Verb.FOLLOW_UPDATE, self.config, (1, index))

    def _control(self, event: int, numbers: tuple[int, ...], data: bytes) -> None:
        """Hear of the control group."""
        self.leads_control = event == Event.LEADS or (self.leads_control and event != Event.FOLLOWS)
        if event == Event.STATE:
            self.applied, self.state = numbers[0], data
        elif event == Event.ENTRY:
            index = numbers[0]
            demand(index > self.applied, "an entry comes twice")
            demand(self.judge.entries.setdefault(index, data) == data, "logs differ")
            self.applied, self.state = index, self.state + data + b"\n"
        if event in {Event.STATE, Event.ENTRY}:
            before = [
                self.judge.entries[it] for it in sorted(self.judge.entries) if it <= self.applied
            ]
            demand(self.state.split(b"\n")[:-1] == before, "an entry was left out")

    def propose(self, entry: bytes) -> None:
        def told(status: int, numbers: tuple[int, ...], _: bytes) -> None:
            if status == 0:
                self.judge.proposed.add(numbers[0])
                demand(self.judge.entries[numbers[0]] == entry, "another entry is committed")

        self.ask(Verb.PROPOSE, self.control, told, first=entry)

    def compact(self) -> None:
        """Keep what entries have led to in place of them."""
        if self.applied:
            self.ask(Verb.SNAPSHOT_GROUP, self.control, numbers=(self.applied,), first=self.state)

    def _heard(self, target: bytes, reply: bytes, payload: bytes) -> None:
        if target.startswith(b"r.") and not payload:
            self.judge.unserved[int(target[2:])] += 1
        elif target.startswith(b"r."):
            answer = json.loads(payload)
            if "error" in answer:
                self.judge.refused += 1
            else:
                self.judge.stored(int(target[2:]), answer["seq"])
        elif target == b"pull" and reply:
            seq = int(reply.split(b".")[5])
            self.judge.delivered_by(seq, self.consumer_term)
            self.judge.received(seq, payload)
            self.delivered[seq] = reply
        elif target in self.asked_acks:
            seq = self.asked_acks.pop(target)
            self.judge.settled[seq] = max(self.judge.settled.get(seq, 0), self.consumer_term)

    # -- work

    def ask(
        self,
        verb: Verb,
        number: int,
        then: Callable[[int, tuple[int, ...], bytes], object] = lambda *_: None,
        **more: object,
    ) -> None:
        """Ask the engine."""
        self.waiting[self.engine.command(verb, number, **more)] = then

    def publish(self, numbers: list[int]) -> None:
        self.judge.sent.update(numbers)
        self.port.tell(
            self.rng.randint(1, 3),
            [
                (
                    SUBJECTS,
                    b"s.%d" % (number % 5),
                    b"r.%d" % number,
                    header_of(number),
                    payload_of(number),
                )
                for number in numbers
            ],
        )

    def pull(self) -> None:
        self.port.tell(1, [(NEXT, NEXT, b"pull", b"", b'{"batch":3,"no_wait":true}')])

    def acknowledge(self, seq: int) -> None:
        reply = b"a.%d.%d" % (self.starts, seq)
        self.asked_acks[reply] = seq
        self.port.tell(1, [(ACK, self.delivered.pop(seq), reply, b"", b"")])

    def delete(self, seq: int) -> None:
        def told(status: int, _: tuple[int, ...], __: bytes) -> None:
            if status == 0:
                self.judge.deleted.add(seq)

        self.judge.gone.add(seq)
        self.ask(Verb.DELETE_MESSAGE, self.stream, told, numbers=(seq,))
