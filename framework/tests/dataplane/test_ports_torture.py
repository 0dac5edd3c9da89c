"""Ports, clients and a route against a naive model of one server: lists of regular expressions.

What a port says takes effect when the core next looks: interest at each read and each turn, what it
publishes in turns, behind all interest that was told before.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from framework.tests.dataplane.conftest import Talk
from framework.tests.dataplane.test_ports import publish

if TYPE_CHECKING:
    from framework.dataplane.port import Port
    from framework.tests.dataplane.conftest import Peer

WORDS = (b"a", b"b", b"c")
QUEUES = (b"", b"", b"q", b"r")


class Model:
    """Who subscribes to what; `told` is interest of ports that the core has not looked at."""

    def __init__(self) -> None:
        self.interest: dict[tuple[str, int], tuple[bytes, bytes]] = {}
        self.told: list[tuple[tuple[str, int], tuple[bytes, bytes] | None]] = []
        self.expected: Counter[tuple[tuple[str, int], bytes]] = Counter()
        self.one_of: list[tuple[frozenset[tuple[str, int]], bytes]] = []

    def look(self) -> None:
        """Put what ports have told in force."""
        for key, interest in self.told:
            if interest is None:
                self.interest.pop(key, None)
            else:
                self.interest.setdefault(key, interest)
        self.told.clear()

    def publish(self, subject: bytes, payload: bytes) -> bool:
        """Let everybody expect a message who is to get it; return whether anybody is."""
        groups: dict[bytes, set[tuple[str, int]]] = {}
        heard = False
        for key, (pattern, queue) in self.interest.items():
            if not matches(pattern, subject):
                continue
            heard = True
            if queue:
                groups.setdefault(queue, set()).add(key)
            else:
                self.expected[key, payload] += 1
        self.one_of += [(frozenset(members), payload) for members in groups.values()]
        return heard

    def check(self, got: Counter[tuple[tuple[str, int], bytes]]) -> None:
        """Compare what came with what was to come, and forget both."""
        extra = got - self.expected
        assert not self.expected - got
        for members, payload in self.one_of:
            served = [key for key in members if extra[key, payload]]
            assert served, (members, payload)
            extra[served[0], payload] -= 1
        assert not +extra
        self.expected.clear()
        self.one_of.clear()


def matches(pattern: bytes, subject: bytes) -> bool:
    expression = re.escape(pattern).replace(rb"\*", rb"[^.]+").replace(rb">", rb".+")
    return re.fullmatch(expression, subject) is not None


def subject_of(rng: random.Random, *, wild: bool = False) -> bytes:
    words = [rng.choice((*WORDS, b"*") if wild else WORDS) for _ in range(rng.randrange(1, 4))]
    if wild and rng.random() < 0.2:
        words[-1] = b">"
    return b".".join(words)


def taken(name: str, port: Port) -> Counter[tuple[tuple[str, int], bytes]]:
    got: Counter[tuple[tuple[str, int], bytes]] = Counter()
    numbers: dict[tuple[int, bytes], int] = {}
    while (batch := port.take()) is not None:
        for at in range(len(batch)):
            tag, payload = batch.tag(at), bytes(batch.payload(at))
            got[(name, tag), payload] += 1
            publisher, number = payload.rsplit(b" ", 1)
            assert numbers.get((tag, publisher), -1) < int(number), "out of order"
            numbers[tag, publisher] = int(number)
    return got


def heard(name: str, client: Peer) -> Counter[tuple[tuple[str, int], bytes]]:
    lines = re.findall(rb"MSG \S+ (\d+) \d+\r\n([^\r]*)\r\n", client.heard())
    return Counter(((name, int(sid)), payload) for sid, payload in lines)


class World:
    """A core with three ports and two clients, and what they should get."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.talk = Talk(seed=seed)
        self.model = Model()
        self.ports = {f"port {at}": self.talk.core.open_port() for at in range(3)}
        self.clients = {f"client {at}": self.talk.client() for at in range(2)}

    def client_says(self, name: str, payload: bytes) -> None:
        """Let a client subscribe, unsubscribe or publish: the core looks before it reads."""
        rng, model, key = self.rng, self.model, (name, self.rng.randrange(8))
        model.look()
        what = rng.random()
        if what < 0.25 and key not in model.interest:
            model.interest[key] = (subject_of(rng, wild=True), rng.choice(QUEUES))
            line = b"SUB %b %b %d\r\n" % (*model.interest[key], key[1])
        elif what < 0.4:
            model.interest.pop(key, None)
            line = b"UNSUB %d\r\n" % key[1]
        else:
            subject = subject_of(rng)
            model.publish(subject, payload)
            line = b"PUB %b %d\r\n%b\r\n" % (subject, len(payload), payload)
        self.talk.core.feed(self.clients[name].link, line, 0)

    def port_says(self, name: str, payload: bytes) -> None:
        """Let a port subscribe, unsubscribe or publish; its interest waits for the next look."""
        rng, model, key = self.rng, self.model, (name, self.rng.randrange(8))
        port, what = self.ports[name], rng.random()
        is_taken = key in model.interest or any(key == it for it, _ in model.told)
        if what < 0.25 and not is_taken:
            interest = (subject_of(rng, wild=True), rng.choice(QUEUES))
            model.told.append((key, interest))
            port.subscribe(0, *interest, tag=key[1])
        elif what < 0.4:
            model.told.append((key, None))
            port.unsubscribe(key[1])
        else:
            subject = subject_of(rng)
            publish(port, (subject, payload))
            self.turn()
            model.publish(subject, payload)

    def turn(self) -> None:
        self.talk.turn()
        self.model.look()

    def check(self) -> None:
        self.turn()
        got: Counter[tuple[tuple[str, int], bytes]] = Counter()
        for name, port in self.ports.items():
            got += taken(name, port)
        for name, client in self.clients.items():
            got += heard(name, client)
        self.model.check(got)


@pytest.mark.parametrize("seed", range(40))
def test_everybody_gets_what_one_server_would_give_him(seed: int) -> None:
    world = World(seed)
    for number in range(400):
        name = world.rng.choice([*world.ports, *world.clients])
        says = world.client_says if name in world.clients else world.port_says
        says(name, b"%b %d" % (name.encode(), number))
        if world.rng.random() < 0.1:
            world.check()
    world.check()


@pytest.mark.parametrize("seed", range(20))
def test_routes_are_told_what_ports_hear(seed: int) -> None:
    rng = random.Random(seed)
    talk = Talk(seed=seed)
    route = talk.route()
    ports = [talk.core.open_port() for _ in range(2)]
    mine: dict[tuple[int, int], tuple[bytes, bytes]] = {}
    told: dict[bytes, int] = {}
    for _ in range(300):
        key = (rng.randrange(2), rng.randrange(6))
        if key in mine:
            del mine[key]
            ports[key[0]].unsubscribe(key[1])
        else:
            mine[key] = (subject_of(rng, wild=True), rng.choice(QUEUES))
            ports[key[0]].subscribe(0, *mine[key], tag=key[1])
        if rng.random() < 0.5:
            follow(told, route.heard())
    follow(told, route.heard())
    wanted = Counter(subject + b" " + queue for subject, queue in mine.values())

    assert told == {it: 1 if it.endswith(b" ") else count for it, count in wanted.items()}


def follow(told: dict[bytes, int], lines: bytes) -> None:
    """Take note of RS+ and RS-, by subject and queue group, with the weight of each."""
    for line in lines.split(b"\r\n")[:-1]:
        verb, _account, subject, queue, weight = [*line.split(b" "), b"", b""][:5]
        if verb == b"RS-":
            del told[subject + b" " + queue]
        else:
            told[subject + b" " + queue] = int(weight or 1)
