"""The routes of a server in a few lines."""

from __future__ import annotations

from msgspec.structs import replace

from framework.supervise.mesh import MeshReport, PeerReport
from framework.supervise.routes import natural_key, routes_lines, rtt_text

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


def lines(*peers: PeerReport, **changes: object) -> list[tuple[str, str]]:
    mesh = replace(MeshReport(peers=peers), **changes)  # type: ignore[arg-type]
    return [(str(line), rtt_text(rtt)) for line, rtt in routes_lines(mesh)]


def test_servers_in_the_same_state_share_a_line() -> None:
    other = replace(WHOLE, name="c", rtt_ns=1_440_000)

    assert lines(WHOLE, BROKEN, other) == [
        ("routes to b c: pool 3/3, accounts $SYS P, s2_fast", "0.21-1.4 ms"),
        (
            "routes to d: pool 2/3, accounts $SYS, s2_fast, lacks connection 1 and account P",
            "0.21 ms",
        ),
    ]


def test_what_has_no_route_is_told() -> None:
    assert lines(sought=("h:1", "h:2"), sought_left_out=3) == [("no route to h:1, h:2, +3", "")]


def test_a_round_trip_that_is_not_known_is_not_told() -> None:
    assert lines(replace(WHOLE, rtt_ns=0))[0][1] == ""


def test_long_lists_are_counted() -> None:
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


def test_many_servers_in_one_state_are_all() -> None:
    [(line, _)] = lines(*MANY)

    assert line == "routes to all 11: pool 3/3, accounts $SYS P, s2_fast"


def test_the_exceptions_of_many_are_named_as_people_count() -> None:
    broken = [replace(BROKEN, name=name) for name in ("east-10", "east-2")]
    others = [peer for peer in MANY if peer.name not in {"east-10", "east-2"}]

    assert [line.partition(":")[0] for line, _ in lines(*broken, *others)] == [
        "routes to east-2 east-10",
        "routes to all 11 but east-2 east-10",
    ]


def test_of_servers_that_are_not_told_of_nobody_says_all() -> None:
    assert lines(*MANY, peers_left_out=1)[0][0].startswith("routes to 11 servers:")


def test_a_server_that_has_just_become_ready_is_still_dialing() -> None:
    mesh = MeshReport(peers=(), sought=("h:1",))

    assert list(routes_lines(mesh, is_settling=True)) == []
    assert len(list(routes_lines(mesh))) == 1


def test_names_are_sorted_as_people_count() -> None:
    names = ["b", "east-10", "east-9", "10", "east-2-b", "east-2", "9", "\u00b2"]

    assert sorted(names, key=natural_key) == [
        *("9", "10", "b", "east-2", "east-2-b", "east-9", "east-10", "\u00b2"),
    ]
