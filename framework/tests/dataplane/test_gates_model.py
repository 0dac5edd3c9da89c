"""Gates, taps and 503s of a core against a naive model, from seeds; and answers that are noise.

Some gates have a thread of their own, others a port; meanwhile they make way for others of the same
rule, and what waits at one that goes is still decided by it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from random import Random
from typing import TYPE_CHECKING

import pytest

from framework.dataplane import Delivered, GateFailed, TapKind
from framework.dataplane.verdict import HEAD, encoded_verdicts
from framework.tests.dataplane.conftest import Talk
from framework.tests.dataplane.gate_model import GATES, HEARD, SUBJECTS, Outcome, expected

if TYPE_CHECKING:
    from framework.dataplane import GateQueue
    from framework.tests.dataplane.conftest import Peer
    from framework.tests.dataplane.gate_model import GateRule, Said

PUBLISHERS = (b"p", b"q", b"r")
STEPS = 300
MESSAGE = re.compile(rb"MSG (\S+) [^\r]*\r\n([^\r]*)\r\n")
TOLD = re.compile(rb"(PONG|-ERR|NATS/1.0 (503|400))")


class World:
    """A core with gates, taps, a listener, and publishers who say things in pieces."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.talk = Talk(seed=seed)
        self.port = self.talk.core.open_port()
        self.queues = [(rule, self._gate(rule)) for rule in GATES]
        self.leaving: list[tuple[GateRule, GateQueue]] = []
        self.ingress = self.talk.core.subscribe_sink(0, b">", kind=TapKind.INGRESS)
        self.unheard = self.talk.core.subscribe_sink(0, b">", kind=TapKind.UNHEARD)
        self.listener = self.talk.client()
        for number, subject in enumerate(sorted(HEARD)):
            self.listener.say(b"SUB %b %d\r\n" % (subject, number))
        self.clients: dict[bytes, Peer] = {name: self._publisher(name) for name in PUBLISHERS}
        self.said: dict[bytes, list[Said]] = {name: [] for name in PUBLISHERS}
        self.unsaid: dict[bytes, bytes] = dict.fromkeys(PUBLISHERS, b"")
        self.undecided: set[tuple[bytes, bytes]] = set()

    def _gate(self, rule: GateRule, replaces: int = 0) -> GateQueue:
        return self.talk.core.add_gate(
            0,
            rule.pattern,
            order=rule.order,
            is_open=rule.is_open,
            bytes_max=2000,
            limit_s=1000.0,
            port=self.port if self.random.random() < 0.5 else None,
            tag=GATES.index(rule),
            replaces=replaces,
        )

    def replace(self) -> None:
        """Let a gate make way for one of the same rule, with a thread or a port."""
        at = self.random.randrange(len(self.queues))
        rule, before = self.queues[at]
        self.queues[at] = rule, self._gate(rule, replaces=before.id)
        self.leaving.append((rule, before))

    def _publisher(self, name: bytes) -> Peer:
        peer = self.talk.client(no_responders=True)
        peer.say(b"SUB re.%b 1\r\n" % name)
        return peer

    def say(self) -> None:
        """Let somebody think of a run of things, and say a part of what is not said yet."""
        name = self.random.choice(PUBLISHERS)
        if self.random.random() < 0.2:
            self.said[name].append(None)
            self.unsaid[name] += b"PING\r\n"
        subject = self.random.choice(SUBJECTS)
        for _ in range(self.random.choice((1, 1, 2, 5, 20))):
            payload = b"%b %05d" % (name, len(self.said[name]))
            self.said[name].append((subject, payload))
            reply = b" re." + name
            self.unsaid[name] += b"PUB %b%b %d\r\n%b\r\n" % (subject, reply, len(payload), payload)
        self.push(name, self.random.randrange(len(self.unsaid[name]) + 1))

    def push(self, name: bytes, count: int) -> None:
        self.talk.core.feed(self.clients[name].link, self.unsaid[name][:count], self.talk.now_ns)
        self.unsaid[name] = self.unsaid[name][count:]

    def decide(self) -> bool:
        """Let a gate decide on a batch, or fail; return whether it had one."""
        if self.random.random() < 0.5:
            return self.decide_by_port()
        waiting = [it for it in self.leaving if not it[1].is_closed]
        rule, queue = self.random.choice([*self.queues, *waiting])
        taken = queue.take()
        if taken is None:
            return False
        number, batch = taken
        payloads = [bytes(batch.payload(index)) for index in range(len(batch))]
        if self.random.random() < 0.1:
            self.undecided |= {(rule.name, payload) for payload in payloads}
            self.talk.core.answer_gate(queue.id, number, None)
        else:
            verdicts = [rule.verdict(payload) for payload in payloads]
            self.talk.core.answer_gate(queue.id, number, encoded_verdicts(batch, verdicts))
        return True

    def decide_by_port(self) -> bool:
        """Let the port decide on a batch, or let go of it undecided; return whether it had one."""
        batch = self.port.take()
        if batch is None:
            return False
        rule = GATES[batch.tag(0)]
        payloads = [bytes(batch.payload(index)) for index in range(len(batch))]
        if self.random.random() < 0.1:
            self.undecided |= {(rule.name, payload) for payload in payloads}
        else:
            self.port.decide(batch, [rule.verdict(payload) for payload in payloads])
        return True

    def run(self) -> Outcome:
        steps = (self.say, self.decide, self.decide, self.talk.turn)
        for _ in range(STEPS):
            self.random.choice(steps)()
            if self.random.random() < 0.05:
                self.replace()
        idle = 0
        while idle < 100:
            for name in PUBLISHERS:
                self.push(name, len(self.unsaid[name]))
            idle = 0 if self.decide() else idle + 1
            self.talk.turn(0.01)
        return self.outcome()

    def outcome(self) -> Outcome:
        """Return what was observed."""
        outcome = Outcome()
        for subject, payload in MESSAGE.findall(self.listener.heard()):
            outcome.heard[payload[:1]].append((subject, payload))
        for event in self.talk.of(Delivered):
            for subject, _, _, payload in event.batch.detach():
                if event.sink == self.ingress:
                    outcome.seen[payload[:1]].append((subject, payload))
                else:
                    outcome.unheard[payload[:1]].append(payload)
        for name, client in self.clients.items():
            outcome.told[name] = [it[1] or it[0] for it in TOLD.findall(client.heard())]
        return outcome


@pytest.mark.parametrize("seed", range(40))
def test_gates_taps_and_answers_are_those_of_the_model(seed: int) -> None:
    world = World(seed)
    observed = world.run()
    wanted = expected(world.said, world.undecided)

    assert {it: wanted.told[it] for it in PUBLISHERS} == observed.told
    assert (wanted.heard, wanted.seen, wanted.unheard) == (
        observed.heard,
        observed.seen,
        observed.unheard,
    )
    gone = [queue for _, queue in world.leaving]
    assert {0} == {it.counters().waiting_bytes for it in [*gone, *(it for _, it in world.queues)]}
    assert all(queue.is_closed for queue in gone)


def _noise(random: Random, count: int) -> bytes:
    """Return an answer that is nearly one."""
    records = []
    for _ in range(count + random.choice((-1, 0, 0, 0, 1))):
        lengths = [random.choice((0, 0, 1, 5, 300, 2**31)) for _ in range(3)]
        status, delay_ns = random.choice((0, 0, 400, 7, 65535)), random.choice((0, 1, -1, 2**62))
        head = HEAD.pack(random.randrange(6), random.randrange(5), status, *lengths, delay_ns)
        texts = [random.choice((b"a.b"[:it], random.randbytes(it))) for it in lengths if it < 1000]
        records.append(head + b"".join(texts) + random.choice((b"", b"\r\n")))
    answer = b"".join(records)
    return answer[: random.randrange(len(answer) + 1)] if random.random() < 0.2 else answer


@pytest.mark.parametrize("seed", range(10))
def test_an_answer_of_noise_decides_all_of_a_batch_or_nothing(seed: int) -> None:
    random, talk = Random(seed), Talk(seed=seed)
    queue = talk.core.add_gate(0, b"g", is_open=True)
    hears, client = talk.client(), talk.client()
    hears.say(b"SUB > 1\r\n")
    counted: defaultdict[str, int] = defaultdict(int)
    for _ in range(200):
        count = random.randrange(1, 4)
        client.say(b"PUB g 1\r\nx\r\n" * count)
        number, batch = queue.take() or (0, b"")
        before = queue.counters().failed
        talk.core.answer_gate(queue.id, number, _noise(random, len(batch)))
        talk.turn()
        counted["failed"] += queue.counters().failed - before
        counted["messages"] += count
        assert queue.counters().failed - before in {0, count}
        assert hears.heard().count(b"MSG ") <= count
    talk.turn(70.0)
    counters = queue.counters()

    assert counted["failed"] == sum(event.count for event in talk.of(GateFailed))
    assert counted["messages"] == counters.passed + counters.changed + counters.refused
    assert 0 == counters.waiting_bytes
