"""Hubs and leaf nodes: ours and real ones in both roles, beside real ones alone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS
from tests.interop.leafnodes import Star
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.testing import Fleet

REAL = "2.15.2"
PAIRS = [(OURS, OURS), (OURS, REAL), (REAL, OURS), (REAL, REAL)]
"""Hub and leaf node."""
TIMES = 40
MEMBERS = 10
SHARED = 1_000
"""Messages to a group with so many members."""
ACCOUNTS = """
accounts {
  A { users [ { user: a, password: x } ] }
  B { users [ { user: b, password: x } ] }
}
"""


@pytest.fixture(params=parameters(PAIRS))
def kinds(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


@pytest.fixture
def pair(kinds: tuple[str, str], fleet: Fleet) -> Iterator[Star]:
    hub, leaf = kinds
    with Star(fleet, hub, [leaf]) as star:
        star.check_all()
        yield star


def test_messages_and_answers_go_both_ways(pair: Star) -> None:
    for asking, serving in (("hub", "leaf0"), ("leaf0", "hub")):
        with pair.client(serving, b"serve 1") as service, pair.client(asking) as client:
            client.await_interest(b"serve")
            service.read_until(b"MSG serve")
            client.send(b"SUB _INBOX.> 1\r\nHPUB serve _INBOX.1 12 13\r\nNATS/1.0\r\n\r\nq\r\n")
            asked = service.read_until(b"HMSG serve")[-1]
            assert (asked.line.split()[3], asked.body) == (b"_INBOX.1", b"NATS/1.0\r\n\r\nq")
            service.send(b"PUB _INBOX.1 6\r\nanswer\r\n")

            assert client.read_until(b"MSG _INBOX.1")[-1].body == b"answer"


def test_nobody_hears_where_nobody_listens(pair: Star) -> None:
    for name in ("hub", "leaf0"):
        with pair.client(name, b"_INBOX.x 1") as client:
            client.send(b"PUB nobody _INBOX.x 1\r\n1\r\n")

            assert client.read_until(b"HMSG _INBOX.x")[-1].body.startswith(b"NATS/1.0 503")


def test_a_group_is_served_at_leaf_nodes_when_nobody_is_here(pair: Star) -> None:
    for here, there in (("hub", "leaf0"), ("leaf0", "hub")):
        with (
            pair.client(there, b"work.> group 1", b"work.> group 2", b"work.> other 3") as far,
            pair.client(here) as publisher,
        ):
            publisher.await_interest(b"work.try")
            far.read_until(b"MSG work.try")
            publisher.send(b"PUB work.it 1\r\n1\r\n" * TIMES + b"PUB work.end 1\r\n1\r\n")
            sids: Counter[bytes] = Counter()
            while sum(sids.values()) < 2 * TIMES:
                got = far.read()
                if got.subject == b"work.it":
                    sids[got.line.split()[2]] += 1

            assert sids[b"3"] == TIMES
            assert sids[b"1"] > 0
            assert sids[b"2"] > 0

        with (
            pair.client(there, b"near.> group 1", b"near.> 5") as far,
            pair.client(here, b"near.> group 1") as near,
        ):
            near.await_interest(b"near.try")
            far.read_until(b"MSG near.try")
            near.send(b"PUB near.it 1\r\n1\r\n" * TIMES + b"PUB near.end 1\r\n1\r\n")
            got = [
                it.line.split()[2] for it in far.read_until(b"MSG near.end") if it.verb == b"MSG"
            ]

            assert set(got) == {b"5"}


def test_interest_ends(pair: Star) -> None:
    for here, there in (("hub", "leaf0"), ("leaf0", "hub")):
        with pair.client(there, b"over 1", b"over.last 2") as far, pair.client(here) as publisher:
            publisher.await_interest(b"over.last")
            far.send(b"UNSUB 1\r\nSUB over.now 3\r\n")
            publisher.await_interest(b"over.now")
            publisher.send(b"SUB _INBOX.> 1\r\nPUB over _INBOX.1 1\r\n1\r\n")

            answer = publisher.read_until(b"HMSG _INBOX.1")[-1]
            assert answer.body.startswith(b"NATS/1.0 503")


def test_either_may_be_started_again(pair: Star) -> None:
    for name in ("hub", "leaf0"):
        pair.servers[name].stop()
        pair.start(name)
        pair.check_all()


def test_two_leaf_nodes_of_one_hub_hear_each_other(kinds: tuple[str, str], fleet: Fleet) -> None:
    hub, leaf = kinds
    with Star(fleet, hub, [leaf, leaf]) as star:
        star.check_all()


def test_a_group_at_two_leaf_nodes_is_shared_by_the_number_of_members(
    kinds: tuple[str, str], fleet: Fleet
) -> None:
    hub, leaf = kinds
    members = [b"share g %d" % number for number in range(1, MEMBERS)]
    with (
        Star(fleet, hub, [leaf, leaf]) as star,
        star.client("leaf0", *members, b"mark 99") as first,
        star.client("leaf1", b"share g 1", b"mark 9") as second,
        star.client("hub") as publisher,
    ):
        # What a leaf node tells later comes behind the interest above.
        star.check("hub", "leaf0")
        star.check("hub", "leaf1")
        publisher.send(b"PUB share 1\r\n1\r\n" * SHARED + b"PUB mark 1\r\n1\r\n")
        counts = [
            sum(it.subject == b"share" for it in client.read_until(b"MSG mark"))
            for client in (first, second)
        ]

        assert sum(counts) == SHARED
        # One of ten is at the second; ten standard deviations are 95.
        assert abs(counts[1] - SHARED // MEMBERS) <= 95


@pytest.mark.parametrize("who", ["user", "users", "clients"])
def test_a_leaf_node_joins_the_account_of_its_user(
    kinds: tuple[str, str], fleet: Fleet, who: str
) -> None:
    block = {
        "user": "authorization { user: l, password: p, account: B }",
        "users": "authorization { users [ { user: k, password: p },"
        " { user: l, password: p, account: B } ] }",
        "clients": "",
    }[who]
    login = "b:x@" if who == "clients" else "l:p@"
    hub, leaf = kinds
    with Star(
        fleet, hub, [leaf], block=block, login=login, remote="account: A", more={"*": ACCOUNTS}
    ) as star:
        star.check("hub", "leaf0", to="a", by="b")
        star.check("leaf0", "hub", to="b", by="a")


@pytest.mark.parametrize("login", ["l:wrong@", "no:p@", ""])
def test_who_is_not_known_stays_out(kinds: tuple[str, str], fleet: Fleet, login: str) -> None:
    hub, leaf = kinds
    block = "authorization { user: l, password: p }"
    with Star(fleet, hub, [leaf], block=block, login=login) as star:
        star.servers["leaf0"].wait_log("Authorization Violation")

        assert star.leafz("hub")["leafs"] == []
