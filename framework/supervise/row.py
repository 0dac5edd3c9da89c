"""One row of the status: what a server reported, and what the supervisor knows of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from framework.supervise.limits import SETTLED_AFTER_S, SILENT_AFTER_S
from framework.supervise.machine import Phase
from framework.supervise.report import StatusReport

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class ServerRow(Struct, frozen=True, kw_only=True):
    """A moment of one server."""

    name: str
    phase: Phase
    report: StatusReport = field(default_factory=StatusReport)
    """The last one of the process that runs; empty when none runs."""
    pid: int | None = None
    restarts: int = 0
    was_ever_ready: bool = False
    ready_since_ns: int | None = None
    """None when it isn't ready."""
    heard_ns: int | None = None
    """Of the last status line; None before the first."""
    in_msgs_per_s: float = 0.0
    out_msgs_per_s: float = 0.0
    problem: str = ""
    """Why it is not running, or why it was launched again last."""
    wait_s: float = 0.0
    """How long it waits for its next launch, from the beginning of the wait."""

    @property
    def headline(self) -> tuple[object, ...]:
        """What is worth showing at once when it changes."""
        report = self.report
        return (self.phase, self.pid, self.problem, report.client, report.http)

    def ready_s(self, now_ns: int) -> float:
        """Return how long it has been ready; 0 when it isn't."""
        return 0.0 if self.ready_since_ns is None else (now_ns - self.ready_since_ns) / 1e9

    def is_settling(self, now_ns: int) -> bool:
        """Return whether it has become ready so lately that the others may still come up."""
        return self.ready_since_ns is not None and self.ready_s(now_ns) < SETTLED_AFTER_S

    def is_silent(self, now_ns: int) -> bool:
        """Return whether it is ready, but has not written its status for a while."""
        if self.phase is not Phase.READY or self.heard_ns is None:
            return False
        return now_ns - self.heard_ns > SILENT_AFTER_S * 1e9


class Totals(Struct, frozen=True):
    """All servers together."""

    servers: int
    ready: int
    connections: int
    in_msgs_per_s: float
    out_msgs_per_s: float
    restarts: int
    counts: Mapping[str, int] = {}
    """Of the columns of plugins that are summed, by title."""


def totals(rows: Iterable[ServerRow], titles: Iterable[str] = ()) -> Totals:
    """Return the sums over `rows`, with those of the columns of plugins that are summed."""
    shown = list(rows)
    return Totals(
        servers=len(shown),
        ready=sum(row.phase is Phase.READY for row in shown),
        connections=sum(row.report.connections for row in shown),
        in_msgs_per_s=sum(row.in_msgs_per_s for row in shown),
        out_msgs_per_s=sum(row.out_msgs_per_s for row in shown),
        restarts=sum(row.restarts for row in shown),
        counts={title: sum(int(row.report.cell(title) or 0) for row in shown) for title in titles},
    )


class Meter:
    """Messages a second, from counters that a server reports now and then."""

    def __init__(self) -> None:
        self._before: tuple[StatusReport, int] | None = None
        self.in_msgs_per_s = 0.0
        self.out_msgs_per_s = 0.0

    def receive_report(self, report: StatusReport, now_ns: int) -> None:
        """Take one report; those of another process start the count anew."""
        before, self._before = self._before, (report, now_ns)
        if before is None or before[0].pid != report.pid or now_ns <= before[1]:
            self.in_msgs_per_s = self.out_msgs_per_s = 0.0
            return
        elapsed_s = (now_ns - before[1]) / 1e9
        self.in_msgs_per_s = max(0, report.in_msgs - before[0].in_msgs) / elapsed_s
        self.out_msgs_per_s = max(0, report.out_msgs - before[0].out_msgs) / elapsed_s
