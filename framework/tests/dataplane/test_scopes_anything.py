"""Interest and messages of all scopes at random, against a naive model of the matrix."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest

from framework.dataplane import LinkKind
from framework.dataplane.scopes import SCOPES, Scope
from framework.tests.dataplane.conftest import Peer, Talk
from framework.tests.dataplane.test_dialects import KINDS

KIND_OF = {
    Scope.HERE: LinkKind.CLIENT,
    Scope.ROUTE: LinkKind.ROUTE,
    Scope.GATEWAY: LinkKind.GATEWAY,
    Scope.LEAF: LinkKind.LEAF,
    Scope.HUB: LinkKind.LEAF,
}
SUBJECTS = (b"a", b"b", b"a.*", b">")
QUEUES = (b"", b"", b"q", b"p")
STEPS = 150


@dataclass(eq=False)
class Party:
    """One link, what it wants, and what it was told."""

    scope: Scope
    peer: Peer
    wants: dict[tuple[bytes, bytes], int] = field(default_factory=dict)
    """Weight by subject and queue; of a client always 1."""
    told: dict[tuple[bytes, bytes], int] = field(default_factory=dict)

    @property
    def names_account(self) -> bool:
        return self.scope in {Scope.ROUTE, Scope.GATEWAY}

    @property
    def verb(self) -> bytes:
        return b"RS" if self.names_account else b"LS"

    def line(self, sign: bytes, subject: bytes, queue: bytes, weight: int) -> bytes:
        words = [self.verb + sign, *([b"$G"] if self.names_account else []), subject]
        words += [queue] if queue else []
        words += [b"%d" % weight] if queue and sign == b"+" else []
        return b" ".join(words) + b"\r\n"

    def hear(self) -> list[bytes]:
        """Take what was told in order; return the subjects of messages."""
        bodies = []
        for line in self.peer.heard().split(b"\r\n"):
            words = line.split(b" ")
            if words[0][:2] == self.verb and words[0][2:] in {b"+", b"-"}:
                _, *rest = words if not self.names_account else (words[0], *words[2:])
                subject, queue = rest[0], rest[1] if len(rest) > 1 else b""
                if words[0].endswith(b"-"):
                    del self.told[subject, queue]
                else:
                    self.told[subject, queue] = int(rest[2]) if queue else 1
            elif words[0] in {b"RMSG", b"LMSG", b"MSG"}:
                bodies.append(line)
        return bodies


class World:
    """A core, parties of every scope, and what each of them should know."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.talk = Talk(seed=seed, kinds=KINDS)
        self.parties: list[Party] = []

    def come(self) -> None:
        scope = self.random.choice(list(KIND_OF))
        if scope is Scope.HERE:
            self.parties.append(Party(scope, self.talk.client()))
            return
        accounts = [0] if KIND_OF[scope] is LinkKind.LEAF else None
        server = self.talk.server(KIND_OF[scope], accounts=accounts, scope=scope)
        self.parties.append(Party(scope, server))

    def go(self) -> None:
        if len(self.parties) > 2:
            party = self.parties.pop(self.random.randrange(len(self.parties)))
            self.talk.core.hang_up(party.peer.link)
            self.talk.turn()

    def want(self) -> None:
        party = self.random.choice(self.parties)
        key = subject, queue = self.random.choice(SUBJECTS), self.random.choice(QUEUES)
        party.hear()
        if party.scope is Scope.HERE:
            sid = b"%s,%s" % key
            if key in party.wants:
                party.peer.say(b"UNSUB %s\r\n" % sid)
                del party.wants[key]
            else:
                party.peer.say(
                    b" ".join((b"SUB", subject, *([queue] if queue else []), sid)) + b"\r\n"
                )
                party.wants[key] = 1
        elif key in party.wants and self.random.random() < 0.6:
            party.peer.say(party.line(b"-", subject, queue, 0))
            del party.wants[key]
        else:
            weight = self.random.randrange(1, 5) if queue else 1
            party.peer.say(party.line(b"+", subject, queue, weight))
            party.wants[key] = weight

    def expected(self, party: Party) -> dict[tuple[bytes, bytes], int]:
        """Return what a server should have been told, by one look at everybody."""
        sums: Counter[tuple[bytes, bytes]] = Counter()
        for other in self.parties:
            if other is not party and other.scope in SCOPES[party.scope].heard_by:
                sums.update(other.wants)
        weighs = party.scope is not Scope.GATEWAY
        return {key: count if key[1] and weighs else 1 for key, count in sums.items()}

    def check_interest(self) -> None:
        for party in self.parties:
            if party.scope is not Scope.HERE:
                party.hear()
                assert party.told == self.expected(party), (party.scope, party.wants)

    def check_message(self) -> None:
        """Publish once: one copy for plain interest that hears it, one member of each group."""
        source = self.random.choice(self.parties)
        for party in self.parties:
            party.hear()
        said = b"PUB a 1" if source.scope is Scope.HERE else b"LMSG a 1"
        said = b"RMSG $G a 1" if source.names_account else said
        source.peer.say(said + b"\r\nx\r\n")
        groups: Counter[bytes] = Counter()
        for party in self.parties:
            lines = party.hear()
            hears = party.scope in SCOPES[source.scope].heard_by
            plain = [it for it, queue in party.wants if not queue and it in {b"a", b">"}]
            named = [queue for line in lines for queue in self._groups(party, line)]
            groups.update(named)
            if party.scope is Scope.HERE:
                assert len(lines) == len(plain) * hears + len(named)
            else:
                wanted = bool(plain) and hears and party is not source
                assert len(lines) == (wanted or bool(named)), (source.scope, party.scope)

        assert set(groups.values()) <= {1}
        assert source.scope is Scope.HERE or not groups

    def _groups(self, party: Party, line: bytes) -> list[bytes]:
        """Return the groups that got a message by this line."""
        if party.scope is Scope.HERE:
            queue = line.split(b" ")[2].split(b",")[1]
            return [queue] if queue else []
        return line.split(b"| ")[1].split(b" ")[:-1] if b"| " in line else []


@pytest.mark.parametrize("seed", range(12))
def test_everybody_is_told_and_sent_what_the_matrix_says(seed: int) -> None:
    world = World(seed)
    for _ in range(4):
        world.come()
    for _ in range(STEPS):
        step = world.random.choices(
            (world.want, world.come, world.go, world.check_message), (12, 1, 1, 4)
        )[0]
        step()
        world.check_interest()
