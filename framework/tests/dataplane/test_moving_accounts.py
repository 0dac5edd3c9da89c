"""Two cores joined by several links whose bytes come in any order between the links.

Whatever state the links are in, a request never overtakes the interest in its own reply: who asks
is answered if the request comes there at all, unless a connection ends meanwhile. When all has
arrived, each side knows all interest of the other, once, and a run of lines comes in its order.
`FRAMEWORK_TORTURE_SEED` plays a seed again.
"""

from __future__ import annotations

import os
import random
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import chain

import pytest

from framework.dataplane import (
    Coding,
    Core,
    LinkKind,
    Listed,
    PeerTerms,
    PlaneLimits,
    subscription_rows,
)

NAMES = (b"$G", b"A", b"B")
PEER, STEPS = 1, 400
FRESH_SEED = int(os.environ.get("FRAMEWORK_TORTURE_SEED", random.SystemRandom().randrange(2**32)))


@dataclass(eq=False)
class Wire:
    """A connection, with what is on its way in each direction."""

    links: dict[Side, int]
    waiting: dict[Side, bytearray]
    """To a side."""
    taken: set[Side] = field(default_factory=set)
    """By who reads from it: it is registered there."""


@dataclass(eq=False)
class Side:
    """One server, with a client in each account that serves and asks."""

    number: int
    core: Core = field(init=False)
    clients: list[int] = field(default_factory=list)
    answered: set[bytes] = field(default_factory=set)
    served: set[bytes] = field(default_factory=set)
    copies: defaultdict[bytes, int] = field(default_factory=lambda: defaultdict(int))
    runs: defaultdict[int, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    """By account: messages that want no answer."""

    def __post_init__(self) -> None:
        self.core = Core(PlaneLimits(), seed=self.number)
        for account, name in enumerate(NAMES):
            assert account == self.core.add_account(name)
            client = self.core.open(LinkKind.CLIENT, "127.0.0.1", 1, accepted=True)
            self.clients.append(client)
            self.core.turn(1)
            self.core.feed(client, b"CONNECT {}\r\n", 1)
            self.core.resume_client(
                client,
                account=account,
                verbose=False,
                pedantic=False,
                echo=False,
                headers=True,
                no_responders=False,
                protocol=1,
            )
            self.core.turn(1)
            text = b"SUB service.%d s\r\nSUB run.%d r\r\nSUB _I.* i\r\n"
            self.core.feed(client, text % (self.number, self.number), 1)

    def interest(self, *, remote: bool) -> list[tuple[int, bytes]]:
        """Return the interest of clients here, or what other servers have said of theirs."""
        self.core.take_events()
        self.core.open_listing(1)
        self.core.next_rows(1, 1)
        self.core.turn(1)
        (answer,) = (e for e in self.core.take_events() if isinstance(e, Listed))
        assert not answer.more
        return sorted(
            (row.account, row.subject)
            for row in subscription_rows(answer.data)
            if (row.link not in self.clients) == remote
        )

    def turn(self, now_ns: int) -> None:
        """Let clients answer what they are asked."""
        self.core.turn(now_ns)
        for client in self.clients:
            rest = self.core.take_output(client)
            while rest:
                line, _, rest = rest.partition(b"\r\n")
                words = line.split(b" ")
                if words[0] == b"MSG":
                    self.take(client, words, rest[: int(words[-1])], now_ns)
                    rest = rest[int(words[-1]) + 2 :]

    def take(self, client: int, words: list[bytes], payload: bytes, now_ns: int) -> None:
        """Answer a request, or note what came."""
        if words[2] == b"r":
            self.runs[self.clients.index(client)].append(payload)
            return
        if words[2] == b"i" or words[1].startswith(b"one."):
            self.answered.add(payload)
            return
        self.served.add(payload)
        self.copies[payload] += 1
        text = b"PUB %b %d\r\n%b\r\n" % (words[3], len(payload), payload)
        self.core.feed(client, text, now_ns)


class World:
    """Two sides, the wires between them, and who has pinned which account."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.sides = (Side(0), Side(1))
        self.now_ns = 1
        self.wires: list[Wire] = []
        self.own: dict[int, Wire] = {}
        self.pinned: list[set[int]] = [set(), set()]
        self.requests: list[tuple[Side, bytes]] = []
        self.sent = 0
        self.excused: set[bytes] = set()
        """Requests that were under way when a connection of their account ended."""
        self.pool: list[Wire] = []
        for index in range(3):
            self.pool.append(self.wire())
            for side in self.sides:
                self.register(self.pool[index], side, pool_index=index, pool_size=3)

    def wire(self) -> Wire:
        """Return a new connection that nobody has registered; coded or not."""
        made = Wire(
            {s: s.core.open(LinkKind.ROUTE, "127.0.0.1", 1, accepted=True) for s in self.sides},
            {s: bytearray() for s in self.sides},
        )
        self.wires.append(made)
        if self.random.random() < 0.5:
            for side, link in made.links.items():
                side.core.feed(link, b"CONNECT {}\r\n", self.now_ns)
                side.core.set_coding(link, self.random.choice(list(Coding)))
        return made

    def register(self, wire: Wire, side: Side, **terms: object) -> None:
        """Let one side take a connection."""
        side.core.register_peer(wire.links[side], PeerTerms(peer=PEER, **terms))
        wire.taken.add(side)
        self.turn()

    def turn(self) -> None:
        """Let both sides act, and put what they say on its way."""
        self.now_ns += 1_000
        for side, other in (self.sides, self.sides[::-1]):
            side.turn(self.now_ns)
            for wire in self.wires:
                wire.waiting[other] += side.core.take_output(wire.links[side])

    def deliver(self, *, everything: bool = False) -> None:
        """Let some bytes of one connection arrive: others wait for as long as it likes."""
        ways = [(w, s) for w in self.wires for s in self.sides if w.waiting[s] and s in w.taken]
        while ways:
            wire, side = self.random.choice(ways)
            waiting = wire.waiting[side]
            count = len(waiting) if everything else self.random.randint(1, len(waiting))
            side.core.feed(wire.links[side], bytes(waiting[:count]), self.now_ns)
            del waiting[:count]
            self.turn()
            ways = [(w, s) for w in self.wires for s in self.sides if w.waiting[s] and s in w.taken]
            if not everything:
                return

    def ask(self) -> None:
        """Send a request of a fresh inbox, which may have a subscription of its own."""
        side = self.random.choice(self.sides)
        account = self.random.randrange(len(NAMES))
        payload = b"%d" % len(self.requests)
        inbox = b"_I.%b" % payload
        text = b""
        if self.random.random() < 0.8:
            inbox = b"one.%d.%b" % (side.number, payload)
            text = b"SUB %b n%b\r\n" % (inbox, payload)
        text += b"PUB service.%d %b %d\r\n%b\r\n" % (
            1 - side.number,
            inbox,
            len(payload),
            payload,
        )
        side.core.feed(side.clients[account], text, self.now_ns)
        self.requests.append((side, payload))
        self.turn()

    def run(self) -> None:
        """Publish with one line again and again; it can be compared with what comes."""
        side, account = self.random.choice(self.sides), self.random.randrange(len(NAMES))
        text = b""
        for _ in range(self.random.randint(1, 6)):
            self.sent += 1
            text += b"PUB run.%d 6\r\n%06d\r\n" % (1 - side.number, self.sent)
        side.core.feed(side.clients[account], text, self.now_ns)
        self.turn()

    def recode(self) -> None:
        """Change how a connection is coded, if it is."""
        wire, side = self.random.choice(self.wires), self.random.choice(self.sides)
        side.core.set_coding(wire.links[side], self.random.choice(list(Coding)))

    def excuse(self) -> None:
        """Let nobody wait for what was under way when a connection ended."""
        self.excused |= {payload for side, payload in self.requests} - {
            payload for side in self.sides for payload in side.answered
        }

    def reconnect(self) -> None:
        """Let a connection of the pool break at one side, then at the other, and come again."""
        index = self.random.randrange(len(self.pool))
        wire, self.pool[index] = self.pool[index], self.wire()
        for side in self.random.sample(self.sides, 2):
            side.core.hang_up(wire.links[side])
            wire.taken.discard(side)
            self.turn()
            for _ in range(self.random.randrange(4)):
                self.random.choice((self.ask, self.deliver))()
            self.register(self.pool[index], side, pool_index=index, pool_size=3)
            for _ in range(self.random.randrange(4)):
                self.random.choice((self.ask, self.deliver))()
        self.wires.remove(wire)
        self.excuse()

    def pin(self) -> None:
        """Let an account move to a connection of its own: the sides take it when they like."""
        account = self.random.choice((1, 2))
        if account in self.own:
            return
        self.own[account] = wire = self.wire()
        first, second = self.random.sample(self.sides, 2)
        for side in (first, second):
            self.pinned[side.number].add(account)
            self.register(wire, side, accounts=[account], account_omitted=True)
            if self.random.random() < 0.3:
                self.reconnect()
            side.core.pin_accounts(sorted(self.pinned[side.number]))
            for _ in range(self.random.randrange(6)):
                self.random.choice((self.ask, self.deliver))()

    def unpin(self) -> None:
        """Let an account move back: its connection ends at one side, then at the other."""
        if not self.own:
            return
        account = self.random.choice(sorted(self.own))
        wire = self.own.pop(account)
        first, second = self.random.sample(self.sides, 2)
        for side in (first, second):
            self.pinned[side.number].discard(account)
            side.core.pin_accounts(sorted(self.pinned[side.number]))
            side.core.hang_up(wire.links[side])
            wire.taken.discard(side)
            self.turn()
            for _ in range(self.random.randrange(6)):
                self.random.choice((self.ask, self.deliver))()
        self.wires.remove(wire)
        self.excuse()

    def settle(self) -> None:
        """Let everything arrive."""
        self.turn()
        self.deliver(everything=True)

    def check(self) -> None:
        """Compare: whose request came is answered, and nothing came twice."""
        self.settle()
        for side, payload in self.requests:
            other = self.sides[1 - side.number]

            if payload not in self.excused:
                assert (payload in other.served) <= (payload in side.answered), payload
            assert other.copies[payload] <= 1, payload
        for side, other in (self.sides, self.sides[::-1]):
            assert side.interest(remote=True) == other.interest(remote=False)
            for came in side.runs.values():
                assert len(set(came)) == len(came)


def _play(seed: int) -> World:
    sys.stdout.write(f"FRAMEWORK_TORTURE_SEED={seed}\n")
    world = World(seed)
    for _ in range(STEPS):
        chance = world.random.random()
        if chance < 0.02:
            world.pin()
        elif chance < 0.035:
            world.unpin()
        elif chance < 0.4:
            world.ask()
        elif chance < 0.41:
            world.reconnect()
        elif chance < 0.45:
            world.run()
        elif chance < 0.47:
            world.recode()
        else:
            world.deliver()
    world.check()
    return world


@pytest.mark.parametrize("seed", [*range(30), pytest.param(FRESH_SEED, id="fresh")])
def test_no_request_overtakes_the_interest_in_its_reply(seed: int) -> None:
    world = _play(seed)
    before = len(world.requests)
    for side in world.sides:
        side.runs.clear()
    first = world.sent
    for _ in range(20):
        world.ask()
        world.run()
    world.check()
    came = [came for side in world.sides for came in side.runs.values()]

    assert all(payload in side.answered for side, payload in world.requests[before:])
    assert all(run == sorted(run) for run in came)
    assert sorted(chain(*came)) == [b"%06d" % n for n in range(first + 1, world.sent + 1)]
