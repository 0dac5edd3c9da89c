"""Servers from before pools and compression: one route, one notice, and no more attempts."""

from __future__ import annotations

import pytest

from framework.testing import OURS, Fleet, await_pools, await_routes, check_exchange, route_rows
from tests.interop.mixtures import parameters
from tests.interop.pairs import INDEXES, Pair, check_passes

REAL = "2.15.2"
OLD = "2.9.10"
PAIRS = [(OURS, OLD), (OLD, OURS), (REAL, OLD), (OLD, REAL)]
PINGS = 'ping_interval: "300ms"'


def texts(kinds, cluster):
    """Return texts for `cluster`: the old server knows none of these options."""
    return ["" if kind == OLD else f"{PINGS}\n{cluster}" for kind in kinds]


def await_pings(pair, more):
    """Wait until one side has sent so many more PINGs: what is tried again was tried by then."""

    def count():
        return sum(
            said.count(b"PING\r\n")
            for each in pair.proxy.connections
            for said in (each.dialed, each.answered)
        )

    wanted = count() + more
    pair.proxy.wait(lambda: count() >= wanted, f"{more} PINGs more")


@pytest.fixture(scope="module", params=parameters(PAIRS))
def pair(request, tmp_path_factory):
    fleet = Fleet(tmp_path_factory.mktemp("pair"))
    cluster = "pool_size: 3\naccounts: [P]\ncompression: s2_fast"
    with Pair(fleet, request.param, texts(request.param, cluster)) as pair:
        await_pools(*pair, pool_size=1, accounts=())
        yield pair
        fleet.stop()


@pytest.fixture
def new(pair):
    return pair.servers[pair.kinds[0] == OLD]


def test_there_is_one_route_without_compression(pair, new):
    await_pools(*pair, pool_size=1, accounts=())
    (row,) = route_rows(new)

    assert row["compression"] == "not supported"
    assert row["remote_name"] == f"S{int(new is pair.dialed)}"
    assert "account" not in row


@pytest.mark.parametrize("account", [*INDEXES, "P"])
def test_it_carries_every_account_the_pinned_one_too(pair, account):
    check_passes(*pair, account)


def test_all_messages_arrive_once(pair):
    check_exchange(pair.servers, user="A", **{"pass": "x"})


def test_what_an_old_server_cannot_do_is_noted_once_and_not_tried_again(pair, new):
    await_pings(pair, 6)
    tried = len(pair.proxy.connections)
    notices = [
        new.log().count(f'Not possible to have a dedicated route for account "{account}"')
        for account in ("$SYS", "P")
    ]
    await_pings(pair, 6)

    assert tried == len(pair.proxy.connections)
    assert len(pair.proxy.open_connections()) == 1
    if OURS in pair.kinds:
        assert notices == [1, 1]
    else:  # the real one says so when it is refused, sometimes twice
        assert [count > 0 for count in notices] == [new is pair.dialing] * 2
    assert [] == [
        line for line in new.log().splitlines() if "[ERR]" in line and "dedicated" not in line
    ]


def test_an_account_pinned_later_changes_nothing(pair, new):
    at = pair.servers.index(new)
    before = [row["rid"] for row in route_rows(new)]
    for accounts in ("[P, Q]", "[P]"):
        pair.reload(at, f"{PINGS}\npool_size: 3\naccounts: {accounts}\ncompression: s2_fast")
        await_routes(new, lambda rows: len(rows) == 1)
        check_passes(*pair, "Q")

    assert before == [row["rid"] for row in route_rows(new)]


@pytest.mark.peer(OLD, REAL)
@pytest.mark.parametrize(
    "kinds",
    [(OLD, OURS, REAL), (OURS, REAL, OLD), (REAL, OLD, OURS), (REAL, OLD, REAL)],
    ids="-".join,
)
def test_each_two_of_three_get_what_both_can(fleet, kinds):
    servers = fleet.start_cluster(*kinds, flags=("-m", "-1"))
    old = servers[kinds.index(OLD)].document("/varz")["server_id"]
    for server, kind in zip(servers, kinds, strict=True):
        count = 2 if kind == OLD else 5
        rows = await_routes(server, lambda rows, count=count: len(rows) == count)

        assert sum(row["remote_id"] == old for row in rows) == (kind != OLD)
    check_exchange(servers)
