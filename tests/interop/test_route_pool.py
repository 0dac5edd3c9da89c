"""Pools of connections between two servers: how many, who carries what, what a broken one stops."""

from __future__ import annotations

import pytest

from framework.testing import OURS, await_pools, await_routes, route_rows
from framework.testing.errors import ServerFailedError
from tests.interop.pairs import INDEXES, Pair, check_passes, log_in, slot_of

CLUSTER = "pool_size: 3"


def counts(server, field):
    return {row["rid"]: row[field] for row in route_rows(server)}


def test_there_are_three_connections_and_one_for_the_system_account(pair):
    await_pools(*pair)
    for server in pair:
        rows = route_rows(server)

        assert len(rows) == 4
        assert [row["account"] for row in rows if "account" in row] == ["$SYS"]
        assert {row["compression"] for row in rows} == {"off"}
    assert {row["did_solicit"] for row in route_rows(pair.dialing)} == {True}
    assert {row["did_solicit"] for row in route_rows(pair.dialed)} == {False}
    assert sorted(map(str, map(slot_of, pair.proxy.open_connections()))) == ["$SYS", "0", "1", "2"]


@pytest.mark.parametrize("account", INDEXES)
def test_an_account_takes_the_connection_of_its_hash_both_ways(pair, account):
    await_pools(*pair)
    check_passes(*pair, account)
    carrying = pair.connection(index=INDEXES[account])
    line = b"\r\nRMSG %b pass.%b 2\r\n" % (account.encode(), account.lower().encode())

    assert line in carrying.dialed
    assert line in carrying.answered
    for other in pair.proxy.connections:
        assert other is carrying or line not in bytes(other.dialed + other.answered)


def test_the_rows_of_both_ends_count_the_same_messages(pair):
    await_pools(*pair)
    publisher_at, subscriber_at = pair
    for account in INDEXES:
        sent, received = counts(publisher_at, "out_msgs"), counts(subscriber_at, "in_msgs")
        with (
            log_in(subscriber_at, account, b"counted 1") as subscriber,
            log_in(publisher_at, account) as publisher,
        ):
            publisher.await_interest(b"counted")
            publisher.send(b"PUB counted 1\r\nx\r\n" * 50)
            for _ in range(50):
                subscriber.read_until(b"MSG counted 1 1")
        grown = [
            row for row in route_rows(publisher_at) if row["out_msgs"] >= sent[row["rid"]] + 50
        ]
        taken = [
            row for row in route_rows(subscriber_at) if row["in_msgs"] >= received[row["rid"]] + 50
        ]

        assert [pair.connection(index=INDEXES[account]).port] == [row["port"] for row in grown]
        assert len(taken) == 1


@pytest.mark.parametrize("sizes", [(3, 5), (5, 3)], ids=str)
def test_of_two_sizes_the_larger_counts(start_pair, sizes):
    pair = start_pair([f"pool_size: {size}" for size in sizes])
    await_pools(*pair, pool_size=max(sizes))
    for account in INDEXES:
        check_passes(*pair, account)


def test_who_insists_on_its_size_refuses_another_one(fleet, kind):
    """Servers from before 2.11 do so; the real one of today is refused by ours that does."""
    strict = "pool_size: 3\nstrict_pool_size: true"
    with Pair(fleet, (OURS, kind), [strict, "pool_size: 5"]) as pair:
        pair.dialed.wait_log("Mismatch route pool size: 3 vs 5")
        third = pair.join(kind, "pool_size: 3")
        await_pools(pair.dialed, third)
        check_passes(pair.dialed, third)
        third.stop()
        pair.dialing.stop()


@pytest.mark.parametrize("sizes", [(-1, -1), (-1, 3), (3, -1)], ids=str)
def test_minus_one_on_either_side_makes_one_connection(start_pair, sizes):
    pair = start_pair([f"pool_size: {size}" for size in sizes])
    await_pools(*pair, pool_size=1, accounts=())
    for account in INDEXES:
        check_passes(*pair, account)
    assert b'"route_pool_idx"' not in pair.proxy.connections[0].dialed
    await_pools(*pair, pool_size=1, accounts=())


def test_minus_one_leaves_no_room_for_accounts_of_their_own(start_pair):
    with pytest.raises(ServerFailedError) as failure:
        start_pair("pool_size: -1, accounts: [P]")

    assert "pool_size cannot be negative if pinned accounts are specified" in str(failure.value)


@pytest.mark.parametrize("index", [0, 2])
def test_a_broken_connection_stops_its_accounts_only_and_comes_back(start_pair, index):
    pair = start_pair(CLUSTER)
    await_pools(*pair)
    before = set(counts(pair.dialing, "rid"))
    broken = pair.connection(index=index)
    pair.proxy.is_refusing = True
    broken.cut()
    for server in pair:
        await_routes(server, lambda rows: len(rows) == 3)
    for account, its_index in INDEXES.items():
        if its_index != index:
            check_passes(*pair, account)
        else:
            with log_in(pair.dialing, account, b"stopped 1"), log_in(pair.dialed, account) as near:
                near.send(b"SUB _INBOX.x 1\r\nPUB stopped _INBOX.x 0\r\n\r\n")

                assert near.messages()[0].verb == b"HMSG"
    pair.proxy.is_refusing = False
    await_pools(*pair)

    assert len(before & set(counts(pair.dialing, "rid"))) == 3
    assert slot_of(pair.connection(index=index)) == index
    for account in INDEXES:
        check_passes(*pair, account)


def test_interest_that_came_while_the_connection_was_broken_is_there_when_it_is_back(start_pair):
    pair = start_pair(CLUSTER)
    await_pools(*pair)
    pair.proxy.is_refusing = True
    with log_in(pair.dialing, "RED", b"old 1") as subscriber, log_in(pair.dialed, "RED") as near:
        near.await_interest(b"old")
        pair.connection(index=2).cut()
        for server in pair:
            await_routes(server, lambda rows: len(rows) == 3)
        subscriber.send(b"UNSUB 1\r\nSUB new 2\r\n")
        subscriber.flush()
        pair.proxy.is_refusing = False
        near.await_interest(b"new")
        near.send(b"SUB _INBOX.x 1\r\nPUB old _INBOX.x 0\r\n\r\n")

        assert near.messages()[0].verb == b"HMSG"


def test_a_new_size_needs_no_new_clients(start_pair):
    cluster = "pool_size: 3, accounts: [P]"
    pair = start_pair(cluster)
    await_pools(*pair, accounts=("$SYS", "P"))
    pinned = [row["rid"] for row in route_rows(pair.dialing) if "account" in row]
    with log_in(pair.dialed, "A", b"kept.> 1") as here, log_in(pair.dialing, "A") as there:
        for at in (0, 1):
            pair.reload(at, "pool_size: 5, accounts: [P]")
        await_pools(*pair, pool_size=5, accounts=("$SYS", "P"))
        there.await_interest(b"kept.x")
        there.send(b"PUB kept.y 1\r\nx\r\n")
        here.read_until(b"MSG kept.y 1 1")
    assert pinned == [row["rid"] for row in route_rows(pair.dialing) if "account" in row]
    for account in INDEXES:
        check_passes(*pair, account)
    check_passes(*pair, "P")
