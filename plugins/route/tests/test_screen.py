"""The routes of a server in a few lines."""

from __future__ import annotations

from framework_route.mesh_report import MeshReport, PeerReport
from framework_route.screen import natural_key, routes_lines
from msgspec.structs import replace

WHOLE = PeerReport(
    name="b",
    pool=3,
    pool_size=3,
    accounts=("$SYS", "P"),
    accounts_count=2,
    compression=("s2_fast",),
    rtt_ns=210_000,
)
BROKEN = replace(
    WHOLE,
    name="d",
    pool=2,
    pool_lacks=(1,),
    accounts=("$SYS",),
    accounts_count=1,
    accounts_lacking=("P",),
    accounts_lacking_count=1,
)


def lines(*peers, **changes):
    mesh = replace(MeshReport(peers=peers), **changes)
    return [(line.text, line.times_ns) for line in routes_lines(mesh)]


def test_servers_in_the_same_state_share_a_line():
    other = replace(WHOLE, name="c", rtt_ns=1_440_000)

    assert lines(WHOLE, BROKEN, other) == [
        ("routes to b c: pool 3/3, accounts $SYS P, s2_fast", (210_000, 1_440_000)),
        (
            "routes to d: pool 2/3, accounts $SYS, s2_fast, lacks connection 1 and account P",
            (210_000, 210_000),
        ),
    ]


def test_what_has_no_route_is_told():
    assert lines(sought=("h:1", "h:2"), sought_left_out=3) == [("no route to h:1, h:2, +3", None)]


def test_a_round_trip_that_is_not_known_is_not_told():
    assert lines(replace(WHOLE, rtt_ns=0))[0][1] is None


def test_long_lists_are_counted():
    many = replace(
        BROKEN,
        pool=10,
        pool_size=256,
        pool_lacks=(1, 2),
        accounts_count=9,
        accounts_lacking_count=7,
    )

    ((line, _),) = lines(many)
    assert "accounts $SYS +8" in line
    assert "lacks connections 1, 2, +244 and accounts P, +6" in line
    assert "routes to 5 more servers" in lines(many, peers_left_out=5)[1][0]


MANY = tuple(replace(WHOLE, name=f"east-{number}") for number in range(12, 1, -1))


def test_many_servers_in_one_state_are_all():
    [(line, _)] = lines(*MANY)

    assert line == "routes to all 11: pool 3/3, accounts $SYS P, s2_fast"


def test_the_exceptions_of_many_are_named_as_people_count():
    broken = [replace(BROKEN, name=name) for name in ("east-10", "east-2")]
    others = [peer for peer in MANY if peer.name not in {"east-10", "east-2"}]

    assert [line.partition(":")[0] for line, _ in lines(*broken, *others)] == [
        "routes to east-2 east-10",
        "routes to all 11 but east-2 east-10",
    ]


def test_of_servers_that_are_not_told_of_nobody_says_all():
    assert lines(*MANY, peers_left_out=1)[0][0].startswith("routes to 11 servers:")


def test_a_server_that_has_just_become_ready_is_still_dialing():
    whole, sought = routes_lines(MeshReport(peers=(WHOLE,), sought=("h:1",)))

    assert (whole.waits, sought.waits) == (False, True)
    assert sought.problem == "no route to h:1"


def test_names_are_sorted_as_people_count():
    names = ["b", "east-10", "east-9", "10", "east-2-b", "east-2", "9", "\u00b2"]

    assert sorted(names, key=natural_key) == [
        *("9", "10", "b", "east-2", "east-2-b", "east-9", "east-10", "\u00b2"),
    ]
