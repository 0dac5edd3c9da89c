from __future__ import annotations

import random

import pytest

from framework.server.system import remote_counts
from framework.server.system.remote_counts import Counts, RemoteCounts


def test_counts_of_several_servers_add_up() -> None:
    counts = RemoteCounts()

    assert counts.receive("A", "x", Counts(2))
    assert counts.receive("A", "y", Counts(3, 1))
    assert not counts.receive("A", "y", Counts(3, 1))
    assert counts.total("A") == Counts(5, 1)
    assert counts.server_count("A") == 2
    assert counts.total("B") == Counts()


def test_a_server_without_clients_takes_no_room() -> None:
    counts = RemoteCounts()
    counts.receive("A", "x", Counts(2))

    assert counts.receive("A", "x", Counts())
    assert not counts.receive("A", "x", Counts())
    assert counts.server_count("A") == 0


def test_who_leaves_takes_its_clients_along() -> None:
    counts = RemoteCounts()
    counts.receive("A", "x", Counts(2))
    counts.receive("B", "x", Counts(1))
    counts.receive("B", "y", Counts(4))
    counts.receive_leaving("x")
    counts.receive_leaving("x")

    assert (counts.total("A"), counts.total("B")) == (Counts(), Counts(4))


def test_there_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_counts, "REMOTE_ACCOUNTS_MAX", 2)
    counts = RemoteCounts()

    assert [counts.receive(str(number), "x", Counts(1)) for number in range(3)] == [
        True,
        True,
        False,
    ]
    assert counts.receive("0", "x", Counts())
    assert counts.receive("2", "x", Counts(1))


@pytest.mark.parametrize("seed", range(10))
def test_it_equals_a_table_that_keeps_everything(seed: int) -> None:
    rng, counts = random.Random(seed), RemoteCounts()
    model: dict[tuple[str, str], int] = {}
    for _ in range(500):
        server = rng.choice("xyz")
        if rng.random() < 0.1:
            counts.receive_leaving(server)
            model = {key: value for key, value in model.items() if key[1] != server}
        else:
            account, clients = rng.choice("ABC"), rng.randrange(4)
            changed = model.get((account, server), 0) != clients
            model[account, server] = clients

            assert counts.receive(account, server, Counts(clients)) == changed
        for account in "ABC":
            expected = sum(value for (name, _), value in model.items() if name == account)

            assert counts.total(account).clients == expected
