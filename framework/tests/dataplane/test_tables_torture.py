"""Tables that change all the time, under clients and routes that come, ask, answer and go.

No model says who gets what; other tests do. Here nothing may be left behind, nothing be lost where
one account serves another at rest, and no memory be touched that is gone (`tools/sanitized.py`).
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from framework.dataplane import PlaneLimits
from framework.dataplane.tables import (
    AccountTables,
    MappedDestination,
    ResponseKind,
    ServiceImportRow,
    StreamImportRow,
    SubjectMapping,
)
from framework.tests.dataplane.conftest import Talk

if TYPE_CHECKING:
    from framework.tests.dataplane.conftest import Peer

ACCOUNTS = [b"A", b"B", b"C", b"D"]
SUBJECTS = ["a", "b", "a.a", "a.b", "b.a.c", "_I.1", "_I.2", "_R_.x.y"]
PATTERNS = [*SUBJECTS, "a.*", "*.a", "a.>", ">", "_I.*", "b.*.c"]
WILD = [("a.*", "b.*"), ("a.*", "a.*"), ("b.*.c", "a.$1"), (">", "a.>"), (">", ">"), ("a", "b")]
FIELDS = [
    "",
    "Nats-Trace-Dest: t\r\n",
    "Nats-Trace-Dest: t\r\nNats-Trace-Only: 1\r\n",
    "Key: v\r\n",
]
ROUTE_FIELDS = [*FIELDS, "Nats-Trace-Dest: t\r\nNats-Trace-Hop: 1.1\r\n"]


class Chaos:
    """One plane, and dice."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.talk = Talk(PlaneLimits(), seed=seed)
        self.accounts = [self.talk.core.add_account(name) for name in ACCOUNTS]
        self.talk.turn()
        self.clients: list[Peer] = []
        self.routes: list[Peer] = []
        self.replies: list[str] = []

    def step(self) -> None:
        """Do one thing of many."""
        ways = [self.tables, self.come, self.go, self.account, self.wait]
        self.dice.choice([*ways, *[self.say] * 12, *[self.route_says] * 5])()

    def tables(self) -> None:
        dice = self.dice
        tables = AccountTables(
            mappings=tuple(self._mapping() for _ in range(dice.randrange(2))),
            stream_imports=tuple(self._stream() for _ in range(dice.randrange(3))),
            service_imports=tuple(self._service() for _ in range(dice.randrange(3))),
            trace_destination=dice.choice(["", "t"]),
        )
        self.talk.core.set_account_tables(dice.choice(self.accounts), tables)
        self.talk.turn()

    def _mapping(self) -> SubjectMapping:
        source, to = self.dice.choice(WILD)
        numbered = to.replace("*", "$1")
        share = MappedDestination(subject=numbered, weight=self.dice.choice([0, 50, 100]))
        return SubjectMapping(source=source, destinations=(share,))

    def _stream(self) -> StreamImportRow:
        subject, to = self.dice.choice(WILD)
        allow = self.dice.random() < 0.5
        account = self.dice.choice(self.accounts)
        return StreamImportRow(account=account, subject=subject, to=to, allow_trace=allow)

    def _service(self) -> ServiceImportRow:
        subject, to = self.dice.choice(WILD)
        return ServiceImportRow(
            account=self.dice.choice(self.accounts),
            subject=subject,
            to=to,
            response=self.dice.choice(list(ResponseKind)),
            threshold_s=self.dice.choice([0.5, 5.0]),
            share=self.dice.random() < 0.5,
            latency=self.dice.choice([0, 7]),
            latency_percent=self.dice.choice([0, 50, 100]),
            allow_trace=self.dice.random() < 0.5,
        )

    def come(self) -> None:
        account = self.dice.choice(self.accounts)
        client = self.talk.client(account=account, no_responders=True)
        self.talk.core.set_client_info(client.link, b'{"acc":"X"}', b'{"acc":"X","name":"n"}')
        self.clients.append(client)
        if len(self.routes) < 2:
            self.routes.append(self.talk.route())

    def go(self) -> None:
        peers = self.dice.choice([self.clients, self.routes])
        if len(peers) > 2:
            self.talk.core.hang_up(peers.pop(self.dice.randrange(len(peers))).link)
            self.talk.turn()

    def account(self) -> None:
        if self.dice.random() < 0.3:
            at = self.dice.randrange(len(ACCOUNTS))
            self.talk.core.remove_account(self.accounts[at])
            self.talk.turn()
            self.talk.core.add_account(ACCOUNTS[at])

    def wait(self) -> None:
        self.talk.turn(self.dice.choice([0.1, 0.7, 3.0]))

    def say(self) -> None:
        if not self.clients:
            return
        lines = "".join(self._line() for _ in range(self.dice.randrange(1, 6)))
        self._hear(self.dice.choice(self.clients), lines)

    def _line(self) -> str:
        dice, sid = self.dice, self.dice.randrange(6)
        what = dice.randrange(6)
        if what == 0:
            queue = dice.choice(["", "q "])
            return f"SUB {dice.choice(PATTERNS)} {queue}{sid}\r\n"
        if what == 1:
            return f"UNSUB {sid}{dice.choice(['', ' 1', ' 3'])}\r\n"
        subject = dice.choice([*SUBJECTS, *self.replies[-6:]])
        return self._message("HPUB", subject, dice.choice(FIELDS)) * dice.choice([1, 1, 3])

    def _message(self, verb: str, words: str, fields: str) -> str:
        dice = self.dice
        reply = dice.choice(["", "", " _I.1", " _I.2", " a"])
        payload = dice.choice(["", "hi", "x" * 9000])
        if not fields and verb == "HPUB":
            return f"PUB {words}{reply} {len(payload)}\r\n{payload}\r\n"
        block = f"NATS/1.0\r\n{fields}\r\n"
        sizes = f"{len(block)} {len(block) + len(payload)}"
        return f"{verb} {words}{reply} {sizes}\r\n{block}{payload}\r\n"

    def route_says(self) -> None:
        if not self.routes:
            return
        dice = self.dice
        account = dice.choice(["A", "B", "C", "D", "FOREIGN"])
        subject = dice.choice([*SUBJECTS, *self.replies[-6:]])
        lines = [
            f"RS+ {account} {dice.choice(PATTERNS)}{dice.choice(['', ' q 2'])}\r\n",
            f"RS- {account} {dice.choice(PATTERNS)}\r\n",
            self._message("HMSG", f"{account} {subject}", dice.choice(ROUTE_FIELDS)),
        ]
        self._hear(dice.choice(self.routes), dice.choice(lines))

    def _hear(self, peer: Peer, lines: str) -> None:
        peer.say(lines.encode())
        for other in (*self.clients, *self.routes):
            for word in other.heard().split():
                if word.startswith(b"_R_.") and not word.endswith(b">"):
                    self.replies.append(word.decode())

    def end(self) -> None:
        """Let everybody go."""
        for peer in (*self.clients, *self.routes):
            self.talk.core.hang_up(peer.link)
        self.talk.turn()
        for account in self.accounts:
            self.talk.core.remove_account(account)
        self.talk.turn()


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_left_behind(seed: int) -> None:
    chaos = Chaos(seed)
    for _ in range(1000):
        chaos.step()
    asked = len(chaos.replies)
    chaos.end()
    totals = chaos.talk.core.totals()

    assert asked > 0
    assert 0 == totals.subscriptions == sum(kind.links for kind in totals.kinds.values())
