"""Engine and log on a simulated disk: seeds choose the work, the faults and where it stops.

One of them again: `Simulation(SEED).run()`.

What was acknowledged is there with its sequence, in order, once; what was never published is not;
batches are there as a whole or not at all;
the counts are exact; a message whose acknowledgement was answered is not delivered again.
Segments are written on a disk of their own, between turns, and may be cut off anywhere.
Bytes leave memory when they are there, and are read back when the seed says so, which may fail.

Size: the world of an engine, its faults and what has to hold are told together.
"""

from __future__ import annotations

import errno
import json
import random
import re
import sys
import weakref
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from framework_jetstream.api.records import (
    ConsumerConfig,
    RePublish,
    StreamConfig,
    SubjectTransform,
)
from framework_jetstream.api.saved import SavedConsumer, SavedStream, text_of
from framework_jetstream.consumer.terms import terms_of
from framework_jetstream.engine._engine import Engine
from framework_jetstream.engine._segment_jobs import SegmentJobs
from framework_jetstream.engine.refusals import refusal_texts
from framework_jetstream.engine.verbs import Event, Verb
from framework_jetstream.log import Effect, Log
from framework_jetstream.recovery import restore
from framework_jetstream.storage.records import METADATA
from framework_jetstream.store.folder import name_of, place_of
from framework_jetstream.stream.rules import limits_of

from framework.testing.simulation import SimulatedDisk

if TYPE_CHECKING:
    from framework_jetstream.api.saved import Damaged
    from framework_jetstream.encryption._cipher import Keys

sys.path.insert(0, str(Path(__file__).parent))

from fake_port import GONE, FakePort

SEEDS = 120
STEPS = 90
FILE_BYTES = 1 << 15
LOG_BYTES = 3 * FILE_BYTES
UNSAID_MAX_NS = 0, 50_000_000, 30_000_000_000
"""One is chosen: the log is told of a save at once, some time later, or when it needs that."""
STREAM = 1
NEXT = b"$JS.API.CONSUMER.MSG.NEXT.S.C"
DIRECT = b"$JS.API.DIRECT.GET.S"
STORE_EVENTS = -(1 << 41)
ACK = b"$JS.ACK.S.C.>"
SECOND_NS = 10**9
BATCH_NS = 5 * SECOND_NS
"""So long a batch waits at least."""

SPARSE_COUNT = 30
"""Of segments: far more than one save may bring back."""
SPARSE_BYTES = 6000
"""Of each of them, at least."""

pytestmark = pytest.mark.sim


CONFIG_OF_CONSUMER = ConsumerConfig(
    durable_name="C",
    name="C",
    ack_policy="explicit",
    ack_wait=10**15,
    max_deliver=-1,
    max_waiting=512,
    max_ack_pending=1000,
)


def payload_of(number: int) -> bytes:
    return b"%d " % number + b"x" * (number * 37 % 700)


class Simulation:
    port_class = FakePort

    def __init__(self, seed: int, mistake: str = "") -> None:
        self.lay_out(seed, "engine", mistake)
        self.config = StreamConfig(
            name="S",
            subjects=["s.>"],
            duplicate_window=10**15,
            max_msgs=self.rng.choice([-1, 20, 200]),
            compression=self.rng.choice(["none", "s2"]),
            metadata=self.rng.choice([None, {METADATA: "far"}]),
            max_msgs_per_subject=-1,
            max_bytes=-1,
            max_msg_size=-1,
            allow_atomic=True,
            allow_direct=True,
            subject_transform=SubjectTransform(src="s.*", dest="s.{{wildcard(1)}}.t"),
            republish=RePublish(src=">", dest="re.>"),
        )
        self.now = SECOND_NS
        self.published = 0
        self.alone: list[int] = []
        """Numbers of messages in no batch."""
        self.batches: list[list[int]] = []
        """Numbers of the messages of each."""
        self.uncommitted: list[list[int]] = []
        """Batches that were not committed."""
        self.waiting: dict[int, int] = {}
        """When it was acknowledged that a message of a batch waits, by its number."""
        self.acked: dict[int, int] = {}
        """Sequence by number of the message."""
        self.removed: set[int] = set()
        """Sequences that were deleted, or may be."""
        self.delivered: dict[int, bytes] = {}
        """Where to acknowledge, by sequence."""
        self.asked_acks: dict[bytes, int] = {}
        self.settled: set[int] = set()
        """Sequences whose acknowledgement was answered."""
        self.gets: set[int] = set()
        """Sequences that direct gets were answered with."""
        self.born = False
        self.answers: dict[int, tuple[int, tuple[int, ...], bytes]] = {}
        self.start()

    def lay_out(self, seed: int, name: str, mistake: str) -> None:
        """Let there be empty disks, and everything that happens follow from the seed."""
        self.rng = random.Random(f"{seed} {name}")
        self.disk = SimulatedDisk(seed)
        self.segment_disk = SimulatedDisk(seed + 1)
        self.segment_bytes = self.rng.choice([1500, 6000, 1 << 20])
        self.small_bytes = self.rng.choice([0, 0, 3000, 1 << 20])
        self.cache_bytes = self.rng.choice([0, 0, 9000, 1 << 30])
        self.scrubs = 0, 0
        """Bytes a second that are read though nobody wants them, and nanoseconds between passes."""
        self.log_bytes = LOG_BYTES
        self.unsaid_max_ns = random.Random(f"{seed} unsaid").choice(UNSAID_MAX_NS)
        self.saves = 0
        self.reads = 0
        self.first_delivered = 0
        """The last sequence that was delivered for the first time."""
        self.missed: set[int] = set()
        """Sequences that went where nobody listens."""
        self.got: set[int] = set()
        """Sequences that were delivered."""
        self.lost: set[int] = set()
        """Sequences that were told to be lost when they were read."""
        self.mended: set[tuple[int, ...]] = set()
        """Group and file of segments, and what is damaged there of which nothing is lost."""
        self.is_hurt = False
        """A file was damaged."""
        self.damage: list[Damaged] = []
        """What the last start has reported."""
        self.mistake = mistake

    # -- a life

    def start(self) -> None:
        self.engine = None  # it says to its port that it ends
        self.port = self.port_class()
        self.log = Log(file_bytes=FILE_BYTES, round_bytes_max=1 << 13, salt=99, keys=self.keys())
        for name in self.disk.names():
            if name.endswith(".log"):
                data = self.disk.read(name)
                self.log.load(int(name[:-4]), len(data))[:] = data
        self.log.recover()
        while self.round():
            pass
        self.engine = Engine(refusal_texts(), 7, b"", b"abcdefghijkl")
        self.engine.open(self.port.capsule())
        self.engine.use_log(self.log)
        # Not by itself: the engine has to end before the port does.
        own = weakref.ref(self)
        self.jobs = SegmentJobs(lambda group, file: own().read_for_jobs(group, file))
        self.engine.use_segments(
            self.jobs,
            self.segment_bytes,
            self.small_bytes,
            self.cache_bytes,
            *self.scrubs,
            log_bytes=self.log_bytes,
            unsaid_max_ns=self.unsaid_max_ns,
        )
        restored = restore(self.engine, self.log, self)
        assert restored.damaged == [] or self.is_hurt
        self.damage = restored.damaged
        assert self.born <= bool(restored.streams), "an acknowledged stream is gone"
        consumers = []
        if restored.streams:
            [stream] = restored.streams
            consumers = stream.consumers
            assert stream.saved.config == self.config
        self.number = restored.streams[0].number if restored.streams else STREAM
        self.consumer = consumers[0].number if consumers else self.number + 1
        self.delivered.clear()
        self.first_delivered = 0
        self.asked_acks.clear()
        self.open()

    def keys(self) -> Keys | None:
        """Return what a start encrypts with."""
        return None

    def open(self) -> None:
        saved = SavedStream("A", 1, self.config)
        self.ask(
            Verb.OPEN_STREAM,
            self.number,
            numbers=(1, 1, 0),
            limits=limits_of(self.config),
            first=b"S",
            second=b"s.>",
            third=text_of(saved),
        )
        consumer = SavedConsumer("A", "S", 1, 1, CONFIG_OF_CONSUMER)
        status = self.ask(
            Verb.OPEN_CONSUMER,
            self.consumer,
            numbers=(self.number, 0),
            terms=terms_of(CONFIG_OF_CONSUMER),
            first=b"C",
            second=b"\n",
            third=text_of(consumer),
        )[0]
        self.born = status == 0 or self.born

    def ask(self, verb: Verb, number: int, **more: object) -> tuple[int, tuple[int, ...], bytes]:
        """Ask the engine, and let all go on until it answers."""
        asked = self.engine.command(verb, number, **more)
        for _ in range(200):
            self.turn()
            if asked in self.answers:
                return self.answers.pop(asked)
            self.round()
            self.read_back()
        raise AssertionError(f"no answer to {verb.name}")

    def turn(self) -> None:
        self.now += self.rng.choice([1000, 10**6, 10**8])
        self.engine.turn(self.now, self.now)
        for asked, status, numbers, data, _ in self.engine.answers():
            if asked == STORE_EVENTS and status == Event.MENDED:
                self.mended.add(numbers[1:4])
            elif asked == STORE_EVENTS:
                assert (status, numbers[0]) == (Event.LOST, self.number)
                self.lost |= set(range(numbers[1], numbers[2] + 1))
            self.answers[asked] = status, numbers, data
        self.missed |= {int(it.split(b".")[5]) for it in self.port.missed}
        self.port.missed.clear()
        for target, reply, _, payload in self.port.said:
            self.heard(target, reply, payload)
        self.port.said.clear()

    def heard(self, target: bytes, reply: bytes, payload: bytes) -> None:
        if target.startswith(b"r.") and not payload:
            self.waiting[int(target[2:])] = self.now
        elif target.startswith(b"r."):
            answer = json.loads(payload)
            number = int(target[2:])
            if "error" in answer:
                self.check_refused(number)
            else:
                for back in range(answer.get("count", 1)):
                    seq = answer["seq"] - back
                    assert self.acked.setdefault(number - back, seq) == seq
        elif target == b"pull" and reply:
            deliveries, seq = map(int, reply.split(b".")[4:6])
            assert seq not in self.settled, f"{seq} is delivered after its acknowledgement"
            in_order = deliveries > 1 or seq > self.first_delivered or seq in self.missed
            assert in_order, f"{seq} is out of order"
            self.got.add(seq)
            self.first_delivered = max(self.first_delivered, seq)
            self.check_payload(seq, payload)
            self.delivered[seq] = reply
        elif target.startswith(b"g.") and payload:
            self.check_payload(int(target[2:]), payload)
            self.gets.add(int(target[2:]))
        elif target == b"many" and payload:
            self.check_payload(0, payload)
        elif target in self.asked_acks:
            self.settled.add(self.asked_acks.pop(target))

    def check_payload(self, seq: int, payload: bytes) -> None:
        """A message has the bytes that it was published with; a sequence of 0: it is not known."""
        number = int(payload.split()[0])
        assert payload == payload_of(number), f"{seq} has other bytes"
        assert seq in {0, self.acked.get(number, seq)}, f"{seq} is {number}"

    def read_back(self) -> None:
        """Let who has waited longest for bytes have them, or some more, or none yet."""
        for _ in range(self.rng.choice([0, 0, 1, 1, 2, 50])):
            self.reads += self.jobs.read()

    def read_for_jobs(self, group: int, file: int) -> bytes:
        """Return what is in a segment, as who performs jobs finds it."""
        if self.rng.random() < 0.002:
            raise OSError(errno.EIO, "the disk does not answer")
        if self.rng.random() < 0.01:
            # A storage kind has it, and brings it back soon, or when it is asked again.
            if self.engine is not None and self.rng.random() < 0.5:
                self.engine.read_again()
            raise OSError(errno.EREMOTE, "it is elsewhere")
        if self.mistake == "nothing can be read":
            raise OSError(errno.EIO, "the disk does not answer")
        if self.mistake == "another segment is read":
            name = self.rng.choice(self.segment_disk.names())
            return self.segment_disk.read(name)
        return self.read(group, file)

    def round(self, stop_at: int = -1) -> bool:
        """Do what the log wants on the disk; False: nothing, or the machine stopped in it."""
        effects = self.log.take_round()
        if effects is None:
            return False
        error = made_error = 0
        for at, effect in enumerate(effects):
            if at == stop_at:
                return False
            try:
                self.perform(effect)
            except OSError as problem:
                if effect[0] == Effect.ALLOCATE:
                    made_error = problem.errno or errno.EIO
                else:
                    error = problem.errno or errno.EIO
                    break
        self.log.round_done(error, made_error)
        return True

    def job(self, stop_at: int = -1) -> bool:
        """Do what the oldest job does; False: there is none, or the machine stopped in it."""
        effects = self.jobs.take()
        if effects is None:
            return False
        error = 0
        for at, effect in enumerate(effects):
            if at == stop_at:
                return False
            try:
                self.perform_segment(effect)
            except OSError as problem:
                error = problem.errno or errno.EIO
                break
        self.saves += not error and effects[-1][0] == Effect.SYNC_DIRECTORY
        if self.mistake == "segments go while they are needed" and self.segment_disk.names():
            self.segment_disk.remove(self.rng.choice(self.segment_disk.names()))
        self.jobs.done(error)
        return True

    def perform_segment(self, effect: tuple) -> None:
        match effect:
            case (Effect.ALLOCATE, name, length):
                assert name not in self.segment_disk.names(), "a file is written twice"
                self.segment_disk.allocate(name, length)
            case (Effect.WRITE, name, offset, data):
                self.segment_disk.write(name, offset, data)
            case (Effect.SYNC, name) if self.mistake != "segments are not synced":
                self.segment_disk.sync(name)
            case (Effect.SYNC_DIRECTORY,) if self.mistake != "names are not synced":
                self.segment_disk.sync_directory()
            case (Effect.REMOVE, name) if name in self.segment_disk.names():
                self.segment_disk.remove(name)

    # -- where segments are

    def files(self) -> list[tuple[int, int]]:
        return sorted(filter(None, map(place_of, self.segment_disk.names())))

    def read(self, group: int, file: int) -> bytes:
        disk = self.segment_disk if group else self.disk
        name = name_of(group, file) if group else f"{file:010}.log"
        return disk.read(name) if name in disk.names() else b""

    def keep(self, group: int, file: int) -> None:
        """Damaged ones need not stay here."""

    def remove(self, group: int, file: int) -> None:
        self.segment_disk.remove(name_of(group, file))

    def perform(self, effect: tuple) -> None:
        match effect:
            case (Effect.RENAME, old, new):
                self.disk.rename(f"{old:010}.log", f"{new:010}.log")
            case (Effect.ALLOCATE, number, length):
                self.disk.allocate(f"{number:010}.log", length)
            case (Effect.SYNC_DIRECTORY,):
                self.disk.sync_directory()
            case (Effect.WRITE, number, offset, data):
                self.disk.write(f"{number:010}.log", offset, data)
            case (Effect.SYNC, number) if self.mistake != "acknowledged before the sync":
                self.disk.sync(f"{number:010}.log")
            case (Effect.REMOVE, number):
                self.disk.remove(f"{number:010}.log")

    # -- work

    def publish(self) -> None:
        batch = []
        for _ in range(self.rng.randint(1, 6)):
            number = self.published
            if self.alone and self.rng.random() < 0.2:
                number = self.rng.choice(self.alone)
            else:
                self.published += 1
                self.alone.append(number)
            header = b"NATS/1.0\r\nNats-Msg-Id: %d\r\n\r\n" % number
            payload = payload_of(number)
            batch.append((b"s.>", b"s.%d" % (number % 5), b"r.%d" % number, header, payload))
        self.port.tell(self.rng.randint(1, 3), batch)

    def publish_batch(self) -> None:
        """Publish a batch, and commit it now or later."""
        numbers = list(range(self.published, self.published + self.rng.randint(1, 4)))
        self.published += len(numbers)
        self.batches.append(numbers)
        for place in range(1, len(numbers)):
            self.publish_in_batch(numbers, place)
            if self.rng.random() < 0.3:
                self.turn()
        self.uncommitted.append(numbers)
        if self.rng.random() < 0.7:
            self.commit()

    def commit(self) -> None:
        if self.uncommitted:
            numbers = self.uncommitted.pop(self.rng.randrange(len(self.uncommitted)))
            self.publish_in_batch(numbers, len(numbers), b"Nats-Batch-Commit: 1\r\n")

    def publish_in_batch(self, numbers: list[int], place: int, more: bytes = b"") -> None:
        number = numbers[place - 1]
        words = b"Nats-Batch-Id: b%d\r\nNats-Batch-Sequence: %d\r\n" % (numbers[0], place)
        header = b"NATS/1.0\r\n" + words + more + b"\r\n"
        payload = b"%d " % number + b"x" * (number * 37 % 700)
        message = (b"s.>", b"s.%d" % (number % 5), b"r.%d" % number, header, payload)
        self.port.tell(1, [message])

    def pull(self) -> None:
        self.port.tell(1, [(NEXT, NEXT, b"pull", b"", b'{"batch":3,"no_wait":true}')])

    def get(self) -> None:
        """Get a message, or all from one on."""
        seq = self.rng.randint(1, max(self.acked.values(), default=1))
        request = b'{"seq":%d}' % seq
        reply = b"g.%d" % seq
        if self.rng.random() < 0.3:
            request, reply = b'{"seq":%d,"batch":20,"next_by_subj":"s.>"}' % seq, b"many"
        self.port.tell(1, [(DIRECT, DIRECT, reply, b"", request)])

    def pull_and_leave(self) -> None:
        """Ask for messages, and be gone when they come; that is heard a little later."""
        body = b'{"batch":%d,"no_wait":true}' % self.rng.randint(1, 4)
        self.port.tell(1, [(NEXT, NEXT, GONE, b"", body)])
        for _ in range(self.rng.randint(1, 2)):
            self.turn()
        if self.rng.random() < 0.3:
            self.pull()
            self.turn()
        self.port.tell_unheard()

    def acknowledge(self) -> None:
        if self.delivered:
            seq = self.rng.choice(sorted(self.delivered))
            reply = b"a.%d" % seq
            self.asked_acks[reply] = seq
            self.port.tell(1, [(ACK, self.delivered.pop(seq), reply, b"", b"")])

    def delete(self) -> None:
        if self.acked:
            seq = self.rng.choice(sorted(self.acked.values()))
            self.removed.add(seq)
            self.ask(Verb.DELETE_MESSAGE, self.number, numbers=(seq,))

    def purge(self) -> None:
        """Remove what is older than a message that was acknowledged."""
        if self.acked:
            seq = self.rng.choice(sorted(self.acked.values()))
            self.removed |= set(range(seq))
            self.ask(Verb.PURGE, self.number, numbers=(seq, 0), first=b"")

    def fill(self) -> None:
        """Let the disk of segments be full, or have room again."""
        self.segment_disk.size_bytes = self.rng.choice([0, 3000, 1 << 40, 1 << 40])

    def stop(self) -> None:
        """Stop somewhere, with power or without, and begin again."""
        self.turn()
        self.round(stop_at=self.rng.randint(0, 3))
        self.job(stop_at=self.rng.randint(0, 8))
        if self.rng.random() < 0.7:
            self.disk.crash()
            self.segment_disk.crash()
        else:
            self.disk.kill()
        self.start()
        self.check()

    def hurt(self) -> None:
        """Flip a bit in a segment, and begin again."""
        self.flip()
        self.start()

    def flip(self) -> None:
        """Flip a bit in a segment."""
        name = self.rng.choice(self.segment_disk.names())
        place = self.rng.randrange(len(self.segment_disk.read(name)))
        self.segment_disk.flip(name, place, self.rng.randrange(8))
        self.is_hurt = True

    def run(self) -> None:
        work = [self.publish] * 5 + [self.pull, self.acknowledge, self.acknowledge, self.delete]
        work += [self.publish_batch, self.commit, self.get, self.get, self.pull_and_leave]
        work += [self.purge] if self.rng.random() < 0.3 else []
        for _ in range(STEPS):
            self.rng.choice(work)()
            if self.rng.random() < 0.02:
                self.fill()
            if self.rng.random() < 0.5:
                self.job()
            self.read_back()
            if self.rng.random() < 0.7:
                self.turn()
            if self.rng.random() < 0.6:
                self.round()
            if self.rng.random() < 0.06:
                self.stop()
        self.stop()

    # -- the checker

    def held(self, *, is_whole: bool = True) -> dict[int, int]:
        """Return the number of each message that is there, by sequence.

        Args:
            is_whole: None goes while it is looked at.
        """
        _, state, _ = self.ask(Verb.STREAM_STATE, self.number)
        count, _, first, _, last = state[:5]
        held = {}
        for seq in range(first, last + 1):
            status, numbers, data = self.ask(Verb.GET_MESSAGE, self.number, numbers=(seq, 0))
            if status == 0:
                payload = data[numbers[2] + numbers[3] :]
                held[seq] = int(payload.split()[0])
                assert payload == payload_of(held[seq]), f"{seq} has other bytes"
        assert len(held) == count or not is_whole
        return held

    def check(self) -> None:
        held = self.held()
        _, state, _ = self.ask(Verb.STREAM_STATE, self.number)
        first, last = state[2], state[4]
        assert len(set(held.values())) == len(held), "a message is there twice"
        assert all(number < self.published for number in held.values())
        most = self.config.max_msgs
        for number, seq in self.acked.items():
            # A limit removes a message when there are so many behind it.
            is_gone = seq in self.removed or 0 < most <= last - seq
            assert is_gone or held.get(seq) == number, f"{number} was acknowledged as {seq}"
        assert max(self.acked.values(), default=0) <= last
        self.check_batches(held, first)
        self.check_consumer(held)

    def check_refused(self, number: int) -> None:
        """A batch of which all was acknowledged, and not long ago, is committed."""
        for batch in self.batches:
            if batch[-1] == number and len(batch) > 1:
                times = [self.waiting.get(it, -BATCH_NS) for it in batch[:-1]]
                assert self.now - min(times) > BATCH_NS, f"the batch {batch} was not committed"

    def check_batches(self, held: dict[int, int], first: int) -> None:
        seqs = {number: seq for seq, number in held.items()}
        assert not {number for batch in self.uncommitted for number in batch} & set(seqs)
        for batch in self.batches:
            known = [it for it in batch if it in seqs]
            for number in batch if known else []:
                seq = seqs[known[0]] + number - known[0]
                is_there = held.get(seq) == number or seq in self.removed or seq < first
                assert is_there, f"{number} of the batch {batch} is not there"

    def check_consumer(self, held: dict[int, int]) -> None:
        _, state, _ = self.ask(Verb.CONSUMER_STATE, self.consumer)
        delivered, floor, pending, left = state[1], state[3], state[4], state[7]
        assert floor <= delivered
        new = sum(seq > delivered for seq in held)
        # Those that nobody got are still new.
        assert new <= left <= new + sum(seq <= delivered for seq in set(held) & self.missed)
        assert pending <= sum(seq <= delivered for seq in held)
        assert not {it for it in self.settled if it > delivered}, "a floor has gone back"


class Missed(Simulation):
    """Clients come and go, nothing else fails: each count is exact at every moment."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.stepped_back = self.kept = 0
        """How often a consumer stands as if nothing had been delivered, and how often not."""

    def run(self) -> None:
        work = [self.publish] * 3 + [self.pull, self.acknowledge] + [self.pull_and_leave] * 2
        work += [self.delete] if self.rng.random() < 0.5 else []
        for _ in range(STEPS):
            self.rng.choice(work)()
            self.turn()
            self.job()
            self.read_back()
            while self.round():
                self.turn()
            self.compare()

    def compare(self) -> None:
        while self.port.unheard:
            self.port.tell_unheard()
            self.turn()
        before = set(self.got)
        _, state, _ = self.ask(Verb.CONSUMER_STATE, self.consumer)
        held = self.held()
        if self.port.unheard or before != self.got:
            return  # something was delivered while it was looked at
        done = self.got - set(self.delivered)
        assert state[7] == len(set(held) - self.got), "pending"
        assert state[4] == len((self.got - done) & set(held)), "acknowledgements pending"
        assert state[1] >= max(self.got, default=0), "delivered"
        self.stepped_back += any(it > state[1] for it in self.missed)
        self.kept += any(it < state[1] for it in self.missed - self.got)


def test_what_nobody_got_is_pending_exactly() -> None:
    simulations = [Missed(seed) for seed in range(40)]
    for seed, simulation in enumerate(simulations):
        try:
            simulation.run()
        except AssertionError as problem:
            raise AssertionError(f"seed {seed}: {problem}") from problem

    assert sum(it.stepped_back for it in simulations) > 100
    assert sum(it.kept for it in simulations) > 10


@pytest.mark.parametrize("block", range(6))
def test_nothing_that_was_acknowledged_is_lost(block: int) -> None:
    for seed in range(block * SEEDS // 6, (block + 1) * SEEDS // 6):
        try:
            Simulation(seed).run()
        except AssertionError as problem:
            raise AssertionError(f"seed {seed}: {problem}") from problem


@pytest.mark.parametrize(
    "mistake",
    [
        "acknowledged before the sync",
        "segments are not synced",
        "names are not synced",
        "nothing can be read",
        "another segment is read",
        "segments go while they are needed",
    ],
)
def test_the_checker_finds_mistakes(mistake: str) -> None:
    def finds(seed: int) -> bool:
        try:
            Simulation(seed, mistake).run()
        except AssertionError:
            return True
        return False

    assert any(finds(seed) for seed in range(SEEDS))


def test_segments_are_saved() -> None:
    def saves(seed: int) -> int:
        simulation = Simulation(seed)
        simulation.run()
        return simulation.saves

    assert sum(saves(seed) for seed in range(30)) >= 15


class Sparse(Simulation):
    """Of many segments that a storage kind has, little is left; then nobody writes any more."""

    def lay_out(self, seed: int, name: str, mistake: str) -> None:
        super().lay_out(seed, name, mistake)
        self.segment_bytes, self.small_bytes, self.cache_bytes = SPARSE_BYTES, 0, 0

    def run(self) -> None:
        while len(self.segment_disk.names()) < SPARSE_COUNT:
            self.publish()
            self.go_on()
        for seq in range(1, max(self.acked.values())):
            if seq % 16:
                self.ask(Verb.DELETE_MESSAGE, self.number, numbers=(seq,))
        for _ in range(400):
            self.go_on()

    def go_on(self) -> None:
        self.turn()
        self.read_back()
        while self.round() or self.job():
            self.turn()


def test_all_that_is_sparse_is_written_again() -> None:
    """Also where one save may bring only some of it back."""
    for simulation in map(Sparse, range(40)):
        config = simulation.config
        if config.metadata is None or config.max_msgs > 0 or config.compression != "none":
            continue
        simulation.run()
        disk = simulation.segment_disk
        assert sum(len(disk.read(it)) for it in disk.names()) < SPARSE_COUNT * SPARSE_BYTES // 2


def test_bytes_leave_memory_and_are_read_back() -> None:
    def run(seed: int) -> Simulation:
        simulation = Simulation(seed)
        simulation.run()
        return simulation

    simulations = [run(seed) for seed in range(30)]

    assert sum(it.reads for it in simulations) >= 200
    assert sum(len(it.gets) for it in simulations) >= 100


def test_damage_that_is_found_when_it_is_read_is_named() -> None:
    reported = 0
    for seed in range(300):
        simulation = Simulation(seed)
        if simulation.config.max_msgs > 0:
            continue  # with fewer messages, others would have stayed
        simulation.small_bytes = simulation.cache_bytes = 0
        simulation.run()
        whole = simulation.held()
        if not simulation.segment_disk.names():
            continue
        simulation.flip()

        left = simulation.held(is_whole=False)
        assert left.items() <= whole.items(), f"seed {seed}"
        assert set(whole) - set(left) <= simulation.lost, f"seed {seed}"
        left = simulation.held()
        assert simulation.lost.isdisjoint(left), f"seed {seed}"
        simulation.pull()
        simulation.turn()
        reported += bool(simulation.lost)
    assert reported > 15


def test_a_start_reads_no_messages_of_segments() -> None:
    started = 0
    for seed in range(20):
        simulation = Simulation(seed)
        simulation.small_bytes = 0
        simulation.run()
        whole = simulation.held()
        config = simulation.config
        if not simulation.segment_disk.names() or config.allow_msg_ttl or config.metadata:
            continue
        asked: list[tuple[int, int]] = []
        simulation.read_for_jobs = partial(Simulation.read, simulation)
        simulation.read = lambda *place, asked=asked: asked.append(place) or b""
        simulation.start()

        assert asked == [], f"seed {seed}"
        assert simulation.held() == whole, f"seed {seed}"
        started += 1
    assert started > 5


def test_damage_of_segments_is_named() -> None:
    reported = 0
    for seed in range(60):
        simulation = Simulation(seed)
        if simulation.config.max_msgs > 0:
            continue  # with fewer messages, others would have stayed
        simulation.small_bytes = 0
        simulation.run()
        reported += is_named(simulation, seed)
    assert reported > 5


def is_named(simulation: Simulation, seed: int) -> bool:
    """Hurt a segment, if there is one; return whether damage is reported: of all that is lost."""
    whole = simulation.held()
    if not simulation.segment_disk.names():
        return False
    simulation.hurt()
    simulation.held(is_whole=False)  # what is not read at a start is found when it is read
    left = simulation.held()
    text = " ".join(it.what for it in simulation.damage)
    ranges = re.findall(r"sequences? (\d+)(?: to (\d+))?", text)
    named = {seq for a, b in ranges for seq in range(int(a), int(b or a) + 1)}
    named |= simulation.lost

    assert left.items() <= whole.items(), f"seed {seed}"
    # What is lost may have been deleted since it was saved.
    assert set(whole) - set(left) <= named, f"seed {seed}"
    assert named.isdisjoint(left), f"seed {seed}"
    return bool(simulation.damage or simulation.lost)
