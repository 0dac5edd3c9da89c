"""Plain lines: what changed, and a summary now and then."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from framework.spec.formats import rate_text
from framework.supervise.machine import Phase
from framework.supervise.report import StatusReport
from framework.supervise.row import ServerRow
from framework.supervise.status import PlainStatus, duration, headline, times_text
from framework.tests.supervise.shown_sections import MESH, mesh

SECOND_NS = 1_000_000_000
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TIME = "2026/01/02 03:04:05 "
REPORT = StatusReport(pid=7, ready=True, client="127.0.0.1:5222", sections=mesh())
READY = ServerRow(name="b-1", phase=Phase.READY, pid=7, report=REPORT, heard_ns=0)


class Watched:
    """A plain status with what it wrote since the last look."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.status = PlainStatus(self.stream, [MESH], lambda: NOW)

    def show(self, *rows: ServerRow, at_s: float = 0) -> list[str]:
        before = self.stream.tell()
        self.status.show(rows, int(at_s * SECOND_NS))
        lines = self.stream.getvalue()[before:].splitlines()
        assert all(line.startswith(TIME) for line in lines)
        return [line.removeprefix(TIME) for line in lines]


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (READY, "ready client 127.0.0.1:5222 cluster 127.0.0.1:5248 pid 7"),
        (replace(READY, phase=Phase.STARTING), "starting pid 7"),
        (replace(READY, phase=Phase.STOPPING), "stopping pid 7"),
        (replace(READY, phase=Phase.STOPPED), "stopped"),
        (
            ServerRow(name="b", phase=Phase.WAITING, problem="killed by SIGKILL", wait_s=0.25),
            "down, next launch in 0.25 s: killed by SIGKILL",
        ),
        (ServerRow(name="b", phase=Phase.FAILED, problem="port taken"), "failed: port taken"),
    ],
)
def test_headlines(row: ServerRow, text: str) -> None:
    assert headline(row, [MESH]) == text


def test_only_changes_are_written() -> None:
    watched = Watched()
    starting = ServerRow(name="b-1", phase=Phase.STARTING, pid=7)

    assert watched.show(starting) == ["b-1 starting pid 7"]
    assert watched.show(starting, at_s=1) == []
    assert watched.show(READY, at_s=2) == [
        "b-1 ready client 127.0.0.1:5222 cluster 127.0.0.1:5248 pid 7",
        "1/1 ready, connections 0, routes 0, in 0 msgs/s, out 0 msgs/s, restarts 0",
    ]
    assert watched.show(READY, at_s=3) == []


def test_no_summary_before_all_are_ready() -> None:
    watched = Watched()

    assert len(watched.show(READY, ServerRow(name="c", phase=Phase.STARTING))) == 2


def test_a_summary_comes_once_a_minute_if_it_says_something_new() -> None:
    watched = Watched()
    watched.show(READY)
    busy = replace(
        READY, report=replace(REPORT, connections=2), in_msgs_per_s=1_500, heard_ns=10**12
    )

    assert watched.show(busy, at_s=59) == []
    assert watched.show(busy, at_s=60) == [
        "1/1 ready, connections 2, routes 0, in 1.50k msgs/s, out 0 msgs/s, restarts 0"
    ]
    assert watched.show(busy, at_s=200) == []


def test_a_summary_comes_soon_when_the_servers_have_found_each_other() -> None:
    watched = Watched()
    watched.show(READY)
    meshed = replace(READY, report=replace(REPORT, sections=mesh(2)))

    assert watched.show(meshed, at_s=1) == []
    assert len(watched.show(meshed, at_s=2)) == 1


def test_silence_is_told_once_and_so_is_its_end() -> None:
    watched = Watched()
    watched.show(READY)

    assert watched.show(READY, at_s=9) == ["b-1 silent pid 7: it runs, but no longer reports"]
    assert watched.show(READY, at_s=10) == []
    assert watched.show(replace(READY, heard_ns=11 * SECOND_NS), at_s=11) == ["b-1 reports again"]


PEER = ("c", "3/3", 300_000)


def with_routes(at_s: int, *peers: tuple[str, str, int], sought: tuple[str, ...] = ()) -> ServerRow:
    said = mesh(peers=peers, sought=sought)
    return replace(READY, report=replace(REPORT, sections=said), heard_ns=at_s * SECOND_NS)


def test_routes_are_told_when_they_have_settled_and_when_they_change() -> None:
    watched = Watched()
    watched.show(READY)
    seed = ("127.0.0.1:6248",)

    assert watched.show(with_routes(1), at_s=1) == []
    assert watched.show(with_routes(2, PEER), at_s=2) == []
    assert watched.show(with_routes(2, PEER), at_s=2) == []
    assert watched.show(with_routes(3, PEER), at_s=3) == ["b-1 routes to c: pool 3/3, rtt 0.30 ms"]
    assert watched.show(with_routes(4, ("c", "3/3", 900_000)), at_s=4) == []
    assert watched.show(with_routes(5, ("c", "3/3", 900_000)), at_s=5) == []
    assert watched.show(with_routes(6, sought=seed), at_s=6) == []
    assert watched.show(with_routes(7, sought=seed), at_s=7) == ["b-1 no route to 127.0.0.1:6248"]
    assert watched.show(with_routes(8), at_s=8) == []
    assert watched.show(with_routes(9), at_s=9) == ["b-1 has no routes"]


def test_routes_of_a_server_that_was_launched_again_are_told_again() -> None:
    watched = Watched()
    for at_s in (1, 2):
        watched.show(with_routes(at_s, PEER), at_s=at_s)
    watched.show(ServerRow(name="b-1", phase=Phase.STARTING, pid=8), at_s=3)
    watched.show(with_routes(4, PEER), at_s=4)

    assert "b-1 routes to c: pool 3/3, rtt 0.30 ms" in watched.show(with_routes(5, PEER), at_s=5)


def test_without_plugins_there_is_no_word_of_routes() -> None:
    stream = io.StringIO()
    status = PlainStatus(stream, (), lambda: NOW)
    for at_s in (1, 2, 3):
        status.show([with_routes(at_s, PEER)], at_s * SECOND_NS)

    assert stream.getvalue() == (
        f"{TIME}b-1 ready client 127.0.0.1:5222 pid 7\n"
        f"{TIME}1/1 ready, connections 0, in 0 msgs/s, out 0 msgs/s, restarts 0\n"
    )


def test_times_are_a_range() -> None:
    assert times_text([(210_000, 210_000), None, (300_000, 1_440_000)]) == "0.21-1.4 ms"
    assert times_text([(210_000, 210_000)]) == "0.21 ms"
    assert times_text([None]) == ""


@pytest.mark.parametrize(
    ("per_s", "text"),
    [
        (0, "0"),
        (950.4, "950"),
        (1_000, "1.00k"),
        (12_345, "12.3k"),
        (456_789, "457k"),
        (4_560_000, "4.56M"),
        (45_600_000, "45.6M"),
    ],
)
def test_rates_have_three_digits(per_s: float, text: str) -> None:
    assert rate_text(per_s) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(4.9, "4s"), (187, "3m07s"), (7_500, "2h05m"), (273_600, "3d04h")],
)
def test_durations_have_two_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text
