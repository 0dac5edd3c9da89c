from __future__ import annotations

import random

import pytest

from framework.server.system import server_table
from framework.server.system.limits import SERVER_SILENT_S_MAX
from framework.server.system.server_table import Heard, ServerTable

SECOND = 1_000_000_000


def test_a_server_counts_itself() -> None:
    assert ServerTable("me").active_count == 1


def test_signs_of_life() -> None:
    table = ServerTable("me")
    heard = [
        table.receive_sign(server_id, seq, 0)
        for server_id, seq in (("a", 5), ("a", 6), ("a", 6), ("a", 2), ("me", 9), ("", 1))
    ]

    assert heard == [
        Heard.NEW,
        Heard.KNOWN,
        Heard.LATE,
        Heard.LATE,
        Heard.REFUSED,
        Heard.REFUSED,
    ]
    assert table.active_count == 2


def test_who_leaves_is_forgotten_at_once_and_may_come_back_with_lower_numbers() -> None:
    table = ServerTable("me")
    table.receive_sign("a", 100, 0)

    assert table.receive_leaving("a")
    assert not table.receive_leaving("a")
    assert table.receive_sign("a", 1, 0) is Heard.NEW


def test_who_is_silent_for_too_long_is_swept_away() -> None:
    table = ServerTable("me")
    limit_ns = round(SERVER_SILENT_S_MAX * SECOND)
    table.receive_sign("a", 1, 0)
    table.receive_sign("b", 1, 1)

    assert table.sweep(limit_ns) == []
    assert table.sweep(limit_ns + 1) == ["a"]
    assert table.active_count == 2


def test_nobody_can_fill_it_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_table, "SERVERS_MAX", 3)
    table = ServerTable("me")
    heard = [table.receive_sign(str(number), 1, 0) for number in range(5)]

    assert heard.count(Heard.REFUSED) == 2
    assert len(table) == 3


class Net:
    """Servers that tell each other of themselves over links that lose and delay messages."""

    def __init__(self, seed: int, count: int) -> None:
        self.rng = random.Random(seed)
        self.now_ns = 0
        self.tables = {f"s{number}": ServerTable(f"s{number}") for number in range(count)}
        self.seqs = dict.fromkeys(self.tables, 0)
        self.alive = dict.fromkeys(self.tables, True)
        self.heard_ns: dict[tuple[str, str], int] = {}
        self.flying: list[tuple[int, str, str, int]] = []

    def step(self) -> None:
        self.now_ns += self.rng.randrange(30 * SECOND)
        for name in self.tables:
            if self.rng.random() < 0.02:
                self.alive[name] = not self.alive[name]
            if self.alive[name]:
                self.speak(name)
        due = [it for it in self.flying if it[0] <= self.now_ns]
        self.flying = [it for it in self.flying if it[0] > self.now_ns]
        for at_ns, source, target, seq in sorted(due):
            self.hear(at_ns, source, target, seq)
        for name, table in self.tables.items():
            for gone in table.sweep(self.now_ns):
                del self.heard_ns[name, gone]

    def speak(self, name: str) -> None:
        self.seqs[name] += 1
        for other in self.tables:
            if other != name and self.rng.random() < 0.8:
                at_ns = self.now_ns + self.rng.randrange(40 * SECOND)
                self.flying.append((at_ns, name, other, self.seqs[name]))

    def hear(self, at_ns: int, source: str, target: str, seq: int) -> None:
        heard = self.tables[target].receive_sign(source, seq, at_ns)
        if heard in {Heard.NEW, Heard.KNOWN}:
            self.heard_ns[target, source] = at_ns


@pytest.mark.parametrize("seed", range(20))
def test_each_knows_exactly_those_that_it_has_heard_lately(seed: int) -> None:
    net = Net(seed, 6)
    limit_ns = round(SERVER_SILENT_S_MAX * SECOND)
    for _ in range(300):
        net.step()
        for name, table in net.tables.items():
            lately = {
                source
                for (target, source), at_ns in net.heard_ns.items()
                if target == name and net.now_ns - at_ns <= limit_ns
            }

            assert {other for other in net.tables if other in table} == lately, f"seed {seed}"
            assert table.active_count == len(lately) + 1
