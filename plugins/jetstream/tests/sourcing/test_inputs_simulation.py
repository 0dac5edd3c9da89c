"""Mirrors and sources on a simulated disk: seeds choose what the origin has, and the faults.

One of them again: `Sourced(SEED).run()`.

All that the origin has comes, in its order, once; a mirror has its sequences, times and holes. What
flow control has acknowledged, and a work queue has removed, is stored.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from framework_jetstream.api.records import StreamConfig, StreamSource
from framework_jetstream.api.saved import SavedStream, text_of
from framework_jetstream.engine.verbs import Verb
from framework_jetstream.sourcing.names import name_parts
from framework_jetstream.stream.rules import limits_of

from framework.sublist.transform import parse_transform

sys.path.insert(0, str(Path(__file__).parent.parent / "engine"))

from fake_port import FakePort
from test_engine_simulation import SECOND_NS, Simulation

SEEDS = 120
STEPS = 120
INPUT = 5
KINDS = ("mirror", "source", "queue")
SOURCE = StreamSource(name="O", filter_subject="o.>")

pytestmark = pytest.mark.sim


class HearingPort(FakePort):
    """A port that remembers headers as well."""

    def __init__(self) -> None:
        super().__init__()
        self.headers: list[tuple[bytes, bytes]] = []

    def _publish(self, own, messages, count):
        self.headers += [(it.text("subject"), it.text("header")) for it in messages[:count]]
        return super()._publish(own, messages, count)


class Sourced(Simulation):
    port_class = HearingPort

    def __init__(self, seed: int, mistake: str = "") -> None:
        self.lay_out(seed, "sourcing", mistake)
        self.kind = self.rng.choice(KINDS)
        self.is_file = self.rng.random() < 0.8
        self.config = StreamConfig(name="S", subjects=[], max_msg_size=-1, max_msgs=-1)
        self.now = SECOND_NS
        self.born = False
        self.answers = {}
        self.delivered, self.asked_acks = {}, {}
        self.messages: dict[int, tuple[bytes, bytes, bytes, int]] = {}
        self.gone: set[int] = set()
        """Sequences of the origin that were deleted before anybody got them."""
        self.last = self.rng.choice([0, 0, 40])
        self.gone.update(range(1, self.last + 1))
        self.got = self.last
        """The highest sequence that was ever delivered."""
        self.consumers = 0
        self.at = self.delivered_count = 0
        self.is_lost = True
        self.questions: dict[bytes, int] = {}
        self.confirmed = 0
        self.start()

    def start(self) -> None:
        self.is_lost = True
        super().start()

    def open(self) -> None:
        third = text_of(SavedStream("A", 1, self.config))
        status = self.ask(
            Verb.OPEN_STREAM,
            self.number,
            numbers=(1, self.is_file, 0),
            limits=limits_of(self.config),
            first=b"S",
            third=third if self.is_file else b"",
        )[0]
        self.born = self.is_file and (status == 0 or self.born)
        stream, rest = name_parts(SOURCE)
        self.ask(
            Verb.OPEN_SOURCE,
            self.number,
            numbers=(INPUT, self.kind == "mirror", 0),
            first=stream.encode(),
            second=rest.encode(),
            programs=[parse_transform("o.*", "t.$1")],
        )

    def turn(self) -> None:
        super().turn()
        self.is_lost |= any(asked < 0 for asked in self.answers)
        self.answers = {asked: it for asked, it in self.answers.items() if asked > 0}
        for subject, header in self.port.headers:
            self.answered(subject, header)
        self.port.headers.clear()

    def heard(self, target: bytes, reply: bytes, payload: bytes) -> None:
        """Nobody publishes here."""

    # -- the origin

    def produce(self) -> None:
        for _ in range(self.rng.randint(1, 8)):
            self.last += 1
            header = self.rng.choice([
                b"",
                b"NATS/1.0\r\nA: b\r\n\r\n",
                b"NATS/1.0\r\nNats-Expected-Last-Sequence: 7\r\n\r\n",
                b"NATS/1.0\r\nNats-Stream-Source: Q 3 > > q.1\r\nA: c\r\n\r\n",
            ])
            payload = b"%d " % self.last + b"x" * self.rng.choice([0, 3, 900])
            self.messages[self.last] = b"o.%d" % (self.last % 3), header, payload, self.now
            if self.rng.random() < 0.2:
                self.gone.add(self.last)

    def forget(self) -> None:
        """Delete messages that nobody has got."""
        for seq in range(self.got + 1, self.last + 1):
            if self.rng.random() < 0.3:
                self.gone.add(seq)

    def next_seq(self) -> int:
        seq = self.at + 1
        while seq in self.gone:
            seq += 1
        return seq

    def name(self) -> bytes:
        return b"C%d" % self.consumers

    def subject(self) -> bytes:
        return b"deliver." + self.name()

    def deliver(self, *, is_whole: bool = False) -> None:
        """Let the consumer deliver some messages, or lose and repeat some."""
        batch = []
        for _ in range(self.rng.randint(1, 6)):
            seq = self.next_seq()
            if self.is_lost or seq > self.last:
                break
            self.delivered_count += 1
            self.at = seq
            fault = 1.0 if is_whole else self.rng.random()
            if fault >= 0.03:
                self.got = max(self.got, seq)
                batch.append(self.row(seq, self.name()))
            if fault >= 0.9:
                batch.append(self.row(seq, self.name() if fault < 0.95 else b"other"))
        if batch:
            self.port.tell(1, batch)

    def row(self, seq: int, consumer: bytes) -> tuple[bytes, ...]:
        subject, header, payload, time_ns = self.messages[seq]
        rest = sum(it not in self.gone for it in range(seq + 1, self.last + 1))
        numbers = b"1.%d.%d.%d.%d" % (seq, self.delivered_count, time_ns, rest)
        return self.subject(), subject, b"$JS.ACK.O.%s.%s" % (consumer, numbers), header, payload

    def beat(self) -> None:
        if not self.is_lost:
            text = b"NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: %d\r\n"
            header = text % self.delivered_count + b"Nats-Last-Stream: 0\r\n\r\n"
            self.port.tell(1, [(self.subject(), self.subject(), b"", header, b"")])

    def question(self) -> None:
        """Let flow control ask how far it is."""
        if not self.is_lost:
            reply = b"$JS.FC.O.%s.%d" % (self.name(), len(self.questions))
            self.questions[reply] = self.at
            header = b"NATS/1.0 100 FlowControl Request\r\n\r\n"
            self.port.tell(1, [(self.subject(), self.subject(), reply, header, b"")])

    def answered(self, subject: bytes, header: bytes) -> None:
        if subject not in self.questions:
            return
        at = self.questions.pop(subject)
        said = int(header.split(b"Nats-Last-Stream: ")[1].split(b"\r\n")[0])
        assert said <= max(at, self.got)
        if self.kind == "queue":
            self.confirmed = max(self.confirmed, said)

    # -- what Python does

    def steer(self) -> None:
        if not self.is_lost:
            return
        _, numbers, _ = self.ask(Verb.SOURCE_STATE, self.number, numbers=(INPUT,))
        if self.is_file:
            confirmed = [it for it in self.messages if it <= self.confirmed and it not in self.gone]
            assert numbers[0] >= max(confirmed, default=0), "what was confirmed is not stored"
        # The consumer of a work queue begins behind what was acknowledged.
        self.at = self.confirmed if self.kind == "queue" else numbers[0]
        while self.at + 1 in self.gone:
            self.at += 1
        self.consumers += 1
        self.delivered_count = 0
        status = self.ask(
            Verb.FOLLOW_SOURCE,
            self.number,
            numbers=(INPUT, self.at),
            first=self.name(),
            second=self.subject(),
            third=b"ident",
        )[0]
        self.is_lost = status != 0

    def squeeze(self) -> None:
        """Let the stream refuse large messages, or take them again."""
        self.set_size(-1 if self.config.max_msg_size == 400 else 400)

    def set_size(self, most: int) -> None:
        self.config = StreamConfig(name="S", subjects=[], max_msg_size=most, max_msgs=-1)
        third = text_of(SavedStream("A", 1, self.config))
        self.ask(
            Verb.UPDATE_STREAM,
            self.number,
            limits=limits_of(self.config),
            third=third if self.is_file else b"",
        )

    def stop(self) -> None:
        if not self.is_file:
            return
        self.turn()
        self.round(stop_at=self.rng.randint(0, 3))
        if self.rng.random() < 0.7:
            self.disk.crash()
        else:
            self.disk.kill()
        self.start()
        self.check()

    def run(self) -> None:
        work = [self.produce, self.deliver, self.deliver, self.deliver, self.steer, self.beat]
        work += [self.question, self.forget, self.squeeze]
        for _ in range(STEPS):
            self.rng.choice(work)()
            if self.rng.random() < 0.7:
                self.turn()
            if self.rng.random() < 0.6:
                self.round()
            if self.rng.random() < 0.04:
                self.stop()
        self.set_size(-1)
        self.catch_up()
        self.check()
        wanted = [seq for seq in self.messages if seq not in self.gone]
        assert [self.origin_of(it) for it in self.held()] == wanted
        self.stop()
        self.check()

    def catch_up(self) -> None:
        for _ in range(3000):
            self.steer()
            self.deliver(is_whole=True)
            self.turn()
            self.round()
            self.job()  # what comes may wait for segments
            stored = self.ask(Verb.SOURCE_STATE, self.number, numbers=(INPUT,))[1][0]
            last = max((it for it in self.messages if it not in self.gone), default=0)
            if self.next_seq() > self.last and not self.is_lost and stored >= last:
                return
        raise AssertionError("it never has all")

    # -- the checker

    def held(self) -> list[tuple[int, bytes, bytes, bytes, int]]:
        _, state, _ = self.ask(Verb.STREAM_STATE, self.number)
        found = []
        for seq in range(state[2], state[4] + 1):
            status, numbers, data = self.ask(Verb.GET_MESSAGE, self.number, numbers=(seq, 0))
            if status == 0:
                body = numbers[2] + numbers[3]
                parts = data[: numbers[2]], data[numbers[2] : body], data[body:]
                found.append((seq, *parts, numbers[1]))
        return found

    @staticmethod
    def origin_of(message: tuple[int, bytes, bytes, bytes, int]) -> int:
        return int(message[3].split()[0])

    def check(self) -> None:
        held = self.held()
        seqs = [self.origin_of(it) for it in held]
        assert seqs == sorted(set(seqs)), "twice, or out of order"
        below = [it for it in self.messages if it not in self.gone and it <= max(seqs, default=0)]
        assert seqs == below, "something is missing"
        for seq, subject, header, payload, time_ns in held:
            origin, there = int(payload.split()[0]), self.messages[int(payload.split()[0])]
            assert (subject, payload) == (there[0].replace(b"o.", b"t."), there[2])
            assert b"Nats-Expected" not in header
            if self.kind == "mirror":
                assert (seq, time_ns) == (origin, there[3])
                assert b"Expected" in there[1] or header == there[1]
            else:
                line = b"Nats-Stream-Source: O %d o.> > %s ident\r\n" % (origin, there[0])
                assert header.count(b"Nats-Stream-Source") == header.count(line) == 1


@pytest.mark.parametrize("block", range(4))
def test_all_that_an_origin_has_comes_in_its_order_once(block: int) -> None:
    for seed in range(block * SEEDS // 4, (block + 1) * SEEDS // 4):
        try:
            Sourced(seed).run()
        except AssertionError as problem:
            raise AssertionError(f"seed {seed}: {problem}") from problem


def test_the_checker_finds_what_was_acknowledged_before_the_sync() -> None:
    def finds(seed: int) -> bool:
        try:
            Sourced(seed, "acknowledged before the sync").run()
        except AssertionError:
            return True
        return False

    assert any(finds(seed) for seed in range(30))
