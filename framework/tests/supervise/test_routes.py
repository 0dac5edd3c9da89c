"""The routes of a server in a few lines."""

from __future__ import annotations

from msgspec.structs import replace

from framework.supervise.mesh import MeshReport, PeerReport
from framework.supervise.routes import routes_lines

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
    return [(str(line), rtt) for line, rtt in routes_lines(mesh)]


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
