from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from framework.actors import ActorSystem, SimulatedDispatcher
from framework.server.system.limits import SERVER_SILENT_S_MAX, SWEEP_INTERVAL_S
from framework.server.system.remote_counts import Counts, RemoteCounts
from framework.server.system.server_stamp import node_of
from framework.server.system.server_table import ServerTable
from framework.server.system.server_watch import ServerWatch

if TYPE_CHECKING:
    from collections.abc import Iterator

STATSZ, CONNS = "$SYS.SERVER.*.STATSZ", "$SYS.SERVER.ACCOUNT.*.CONNS"


class Watch:
    """The actor on virtual time, and when it has told of its server."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.dispatcher = SimulatedDispatcher(seed=1)
        self.system = ActorSystem(self.dispatcher, name="test")
        self.table, self.counts = ServerTable("NONE"), RemoteCounts()
        self.told_s: list[float] = []
        self.latencies: list[bytes] = []
        self.actor = self.system.spawn(
            ServerWatch,
            name="watch",
            server=server,
            table=self.table,
            counts=self.counts,
            broadcast=lambda: self.told_s.append(self.dispatcher.now_ns() / 1e9),
            take_remote_latency=self.latencies.append,
            log=server.log,
        )
        self.begun_s = self.dispatcher.now_ns() / 1e9

    def hear(self, subject: str, document: object, at: str = STATSZ) -> None:
        payload = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.server.deliver(at, (subject.encode(), b"", b"", payload))
        self.dispatcher.run_ready()

    def told(self) -> list[float]:
        return [round(it - self.begun_s, 3) for it in self.told_s]


@pytest.fixture
def watch(server: Any) -> Iterator[Watch]:
    watch = Watch(server)
    watch.actor.tell(ServerWatch.Begin())
    watch.dispatcher.run_ready()
    yield watch
    watch.system.stop(5.0)
    watch.dispatcher.run_ready()

    assert server.taps == {}


def sign(server_id: str, seq: int) -> dict[str, object]:
    return {"server": {"name": server_id.lower(), "id": server_id, "seq": seq}}


def test_statsz_is_told_soon_and_then_less_and_less_often(watch: Watch) -> None:
    watch.dispatcher.run_for(60)

    assert watch.told()[:7] == [0.25, 0.75, 1.75, 3.75, 7.75, 15.75, 25.75]
    assert watch.told()[7] == 35.75


def test_a_new_server_hears_of_this_one_at_once(watch: Watch) -> None:
    watch.dispatcher.run_for(40)
    before = len(watch.told_s)
    watch.hear("$SYS.SERVER.NTWO.STATSZ", sign("NTWO", 7))

    assert len(watch.told_s) == before + 1
    assert watch.table.active_count == 2


def test_many_new_servers_are_told_once_a_second(watch: Watch) -> None:
    watch.dispatcher.run_for(40)
    before = len(watch.told_s)
    for number in range(100):
        watch.hear("$SYS.SERVER.X.STATSZ", sign(f"N{number}", 1))

    assert len(watch.told_s) == before + 1

    watch.dispatcher.run_for(1.1)

    assert len(watch.told_s) == before + 2


def test_its_own_words_and_nonsense_change_nothing(watch: Watch) -> None:
    documents: list[object] = [
        sign("NONE", 1),
        b"",
        b"{bad",
        b"[]",
        {},
        {"server": 5},
        {"server": {"id": 5, "seq": 1}},
        {"server": {"id": "X", "seq": "1"}},
        b"[" * 100_000,
    ]
    for document in documents:
        watch.hear("$SYS.SERVER.X.STATSZ", document)
        watch.hear("$SYS.SERVER.ACCOUNT.A.CONNS", document, CONNS)

    assert watch.table.active_count == 1
    assert watch.counts.total("A") == Counts()


@pytest.mark.parametrize("how", ["SHUTDOWN", "LAMEDUCK"])
def test_who_goes_takes_its_clients_along(watch: Watch, how: str) -> None:
    document = {**sign("NTWO", 1), "acc": "A", "conns": 3, "leafnodes": 1}
    watch.hear("$SYS.SERVER.ACCOUNT.A.CONNS", document, CONNS)

    assert watch.counts.total("A") == Counts(3, 1)
    assert watch.table.active_count == 2

    watch.hear(f"$SYS.SERVER.NTWO.{how}", {}, f"$SYS.SERVER.*.{how}")

    assert watch.counts.total("A") == Counts()
    assert watch.table.active_count == 1


def test_clients_of_accounts_that_are_not_known_here_do_not_matter(watch: Watch) -> None:
    watch.hear("x", {**sign("NTWO", 1), "acc": "UNKNOWN", "conns": 3}, CONNS)

    assert watch.counts.total("UNKNOWN") == Counts()


def test_who_is_silent_is_forgotten(watch: Watch) -> None:
    watch.hear("x", {**sign("NTWO", 1), "acc": "A", "conns": 3}, CONNS)
    watch.dispatcher.run_for(SERVER_SILENT_S_MAX + SWEEP_INTERVAL_S)

    assert watch.table.active_count == 1
    assert watch.counts.total("A") == Counts()


def test_another_system_account_is_listened_to_instead(watch: Watch) -> None:
    watch.server.accounts.system_account = "A"
    watch.actor.tell(ServerWatch.Begin())
    watch.dispatcher.run_ready()

    assert {spec.account for spec in watch.server.taps.values()} == {"A"}
    assert len(watch.server.taps) == 6


def test_remote_latencies_are_handed_on(watch: Watch) -> None:
    subject = f"$SYS.LATENCY.M2.{node_of('n1')}"
    watch.hear(subject, b"half", at=subject)

    assert watch.latencies == [b"half"]
