"""Rows, sums and rates."""

from __future__ import annotations

from framework.supervise.machine import Phase
from framework.supervise.report import StatusReport
from framework.supervise.row import Meter, ServerRow, Totals, totals
from framework.tests.supervise.shown_sections import mesh

SECOND_NS = 1_000_000_000


def test_rates_are_differences_over_time() -> None:
    meter = Meter()
    meter.receive_report(StatusReport(pid=1, in_msgs=100, out_msgs=10), 5 * SECOND_NS)
    meter.receive_report(StatusReport(pid=1, in_msgs=300, out_msgs=20), 7 * SECOND_NS)

    assert (meter.in_msgs_per_s, meter.out_msgs_per_s) == (100, 5)


def test_another_process_starts_the_count_anew() -> None:
    meter = Meter()
    meter.receive_report(StatusReport(pid=1, in_msgs=100), 5 * SECOND_NS)
    meter.receive_report(StatusReport(pid=2, in_msgs=900), 6 * SECOND_NS)

    assert meter.in_msgs_per_s == 0


def test_counters_that_go_back_give_no_negative_rate() -> None:
    meter = Meter()
    meter.receive_report(StatusReport(pid=1, in_msgs=100), 5 * SECOND_NS)
    meter.receive_report(StatusReport(pid=1, in_msgs=1), 6 * SECOND_NS)

    assert meter.in_msgs_per_s == 0


def test_two_reports_of_one_instant_give_no_rate() -> None:
    meter = Meter()
    meter.receive_report(StatusReport(pid=1, in_msgs=1), SECOND_NS)
    meter.receive_report(StatusReport(pid=1, in_msgs=9), SECOND_NS)

    assert meter.in_msgs_per_s == 0


def test_a_ready_server_that_says_nothing_is_silent() -> None:
    row = ServerRow(name="a", phase=Phase.READY, ready_since_ns=0, heard_ns=0)

    assert not row.is_silent(5 * SECOND_NS)
    assert row.is_silent(6 * SECOND_NS)
    assert row.ready_s(6 * SECOND_NS) == 6


def test_only_a_ready_server_is_silent() -> None:
    assert not ServerRow(name="a", phase=Phase.WAITING, heard_ns=0).is_silent(60 * SECOND_NS)
    assert ServerRow(name="a", phase=Phase.WAITING).ready_s(60) == 0


def test_totals_are_sums() -> None:
    report = StatusReport(connections=2, sections=mesh(1))
    rows = [
        ServerRow(name="a", phase=Phase.READY, report=report, in_msgs_per_s=3, restarts=1),
        ServerRow(name="b", phase=Phase.WAITING, report=report, out_msgs_per_s=4),
    ]

    assert totals(rows, ["routes"]) == Totals(2, 1, 4, 3, 4, 1, {"routes": 2})
