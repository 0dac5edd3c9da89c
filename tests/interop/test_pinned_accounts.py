"""Accounts with a connection of their own: what it carries, and what a reload on one side does."""

from __future__ import annotations

import contextlib
import re

import pytest

from framework.testing import OURS, await_pools, await_routes, route_rows
from tests.interop.pairs import INDEXES, check_passes, log_in

POOL = "pool_size: 3"
CLUSTER = "pool_size: 3, accounts: [P, Q]"
PINNED = "pool_size: 3, accounts: [P]"


@contextlib.contextmanager
def pool_kept(pair):
    """Check that the connections without an account outlive what is done."""

    def rids():
        return [[row["rid"] for row in route_rows(it) if "account" not in row] for it in pair]

    before = rids()
    yield
    assert before == rids()


def check_alone(pair):
    """Check that P has a connection of its own, and that messages pass there."""
    await_pools(*pair, accounts=("$SYS", "P"))
    check_passes(*pair, "P")


def check_stopped(subscribing, publishing, account="P"):
    """Check that a server knows nothing of the interest that another one has."""
    with (
        log_in(subscribing, account, b"stopped 1") as subscriber,
        log_in(publishing, account, b"_INBOX.x 1") as publisher,
        log_in(subscribing, "A", b"mark 1"),
        log_in(publishing, "A") as other,
    ):
        other.await_interest(b"mark")
        for _ in range(20):
            publisher.send(b"PUB stopped _INBOX.x 0\r\n\r\n")

            assert [b"HMSG"] == [message.verb for message in publisher.messages()]
        assert subscriber.messages() == []


def test_each_pinned_account_has_a_connection_and_its_name_in_routez(pair):
    await_pools(*pair, accounts=("$SYS", "P", "Q"))


@pytest.mark.parametrize("account", ["P", "Q"])
def test_its_name_is_not_on_the_wire(pair, account):
    await_pools(*pair, accounts=("$SYS", "P", "Q"))
    check_passes(*pair, account)
    own = pair.connection(account=account)
    line = b"RMSG pass.%b 2\r\nhi\r\n" % account.lower().encode()
    for said in (own.dialed, own.answered):
        operations = b"\r\n".join(said.split(b"\r\n")[2:])

        assert b"RS+ pass.*\r\n" in said
        assert line in said
        assert not re.search(
            rb"^(RS[+-]|RMSG|HMSG) %b " % account.encode(), operations, re.MULTILINE
        )
    for other in pair.proxy.connections:
        assert other is own or line not in bytes(other.dialed + other.answered)


def test_headers_queues_and_replies_pass_without_the_name_too(pair):
    await_pools(*pair, accounts=("$SYS", "P", "Q"))
    for near, far in ((pair.dialed, pair.dialing), (pair.dialing, pair.dialed)):
        with (
            log_in(far, "P", b"q.* workers 1", b"h 2") as subscriber,
            log_in(near, "P") as publisher,
        ):
            publisher.await_interest(b"h")
            publisher.send(b"PUB q.1 re.ply 1\r\nx\r\n")
            publisher.send(
                b"HPUB h re.ply 18 19\r\nNATS/1.0\r\nA: bcd\r\n\r\ny\r\n".replace(
                    b"18 19", b"20 21"
                )
            )

            assert subscriber.read_until(b"MSG q.1 1 re.ply 1")
            assert subscriber.read_until(b"HMSG h 2 re.ply 20 21")[-1].body.endswith(b"\r\n\r\ny")


def test_a_broken_connection_stops_only_its_account_and_comes_back(pair):
    await_pools(*pair, accounts=("$SYS", "P", "Q"))
    with pool_kept(pair):
        pair.proxy.is_refusing = True
        pair.connection(account="P").cut()
        for server in pair:
            await_routes(server, lambda rows: len(rows) == 5)
        check_stopped(*pair)
        check_stopped(*reversed(pair.servers))
        check_passes(*pair, "Q")
        check_passes(*pair, "ACME")
        pair.proxy.is_refusing = False
        await_pools(*pair, accounts=("$SYS", "P", "Q"))
        check_passes(*pair, "P")


def test_added_first_where_the_routes_are_dialed_it_has_its_connection_at_once(start_pair):
    pair = start_pair(POOL)
    await_pools(*pair)
    check_passes(*pair, "P")
    with pool_kept(pair):
        for at in (1, 0):
            pair.reload(at, PINNED)
            check_alone(pair)


def test_added_first_where_routes_are_accepted(start_pair):
    """Two real servers let it wait until both have it; where ours takes part it goes on at once."""
    pair = start_pair(POOL, is_hidden=False)
    await_pools(*pair)
    with pool_kept(pair):
        pair.reload(0, PINNED)
        if OURS in pair.kinds:
            check_alone(pair)
        else:
            await_pools(*pair)
            check_stopped(*pair)
            check_stopped(*reversed(pair.servers))
        check_passes(*pair, "ACME")
        pair.reload(1, PINNED)
        check_alone(pair)


def test_removed_first_where_routes_are_accepted(start_pair):
    """Ours accepts a connection for any account that it knows; a real server refuses it."""
    pair = start_pair(PINNED)
    await_pools(*pair, accounts=("$SYS", "P"))
    with pool_kept(pair):
        pair.reload(0, POOL)
        if pair.kinds[0] == OURS:
            check_alone(pair)
        else:
            # Who dials knows nothing of it, tries again, and hears this.
            pair.dialing.wait_log('No route for account "P"')
            await_pools(*pair)
            check_stopped(pair.dialing, pair.dialed)
        check_passes(*pair, "ACME")
        pair.reload(1, POOL)
        await_pools(*pair)
        check_passes(*pair, "P")


def test_removed_first_where_the_routes_are_dialed(start_pair):
    pair = start_pair(PINNED)
    await_pools(*pair, accounts=("$SYS", "P"))
    with pool_kept(pair):
        pair.reload(1, POOL)
        await_pools(*pair)
        check_stopped(pair.dialed, pair.dialing)
        check_passes(*pair, "ACME")
        pair.reload(0, POOL)
        await_pools(*pair)
        check_passes(*pair, "P")


def test_interest_survives_the_way_to_the_own_connection_and_back(start_pair):
    pair = start_pair(POOL)
    await_pools(*pair)
    with log_in(pair.dialed, "P", b"kept.> 1") as here, log_in(pair.dialing, "P") as there:
        for number, (cluster, accounts) in enumerate(((PINNED, ("$SYS", "P")), (POOL, ("$SYS",)))):
            pair.reload(1, cluster)
            pair.reload(0, cluster)
            there.await_interest(b"kept.x")
            # A real server that unpins an account while its connection is dialed tells nobody, and
            # may close one that has just come: what is on its way there is lost.
            await_pools(*pair, accounts=accounts)
            there.await_interest(b"kept.x")
            there.send(b"PUB kept.%d 1\r\nx\r\n" % number)
            here.read_until(b"MSG kept.%d 1 1" % number)


def test_an_account_that_does_not_exist_may_be_pinned(start_pair):
    """The real server then tries for ever to get its connection; the others must not suffer."""
    pair = start_pair("pool_size: 3, accounts: [NOWHERE]")
    for server in pair:
        await_routes(server, lambda rows: sum(row.get("account") != "NOWHERE" for row in rows) == 4)

    for account in (*INDEXES, "P"):
        check_passes(*pair, account)


def test_pinned_on_one_side_only_from_the_start(start_pair):
    """The side that dials asks for a connection of an account that the other one does not pin."""
    pair = start_pair([POOL, PINNED])
    if pair.kinds[0] == OURS:
        check_alone(pair)
    else:
        pair.dialing.wait_log('No route for account "P"')
        await_pools(*pair)

    check_passes(*pair, "ACME")
