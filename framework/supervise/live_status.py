"""Showing how the servers stand: a table that is drawn anew in a terminal."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from framework.supervise.machine import Phase
from framework.supervise.row import ServerRow, totals
from framework.supervise.status import duration, rate, summary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_STYLES = {
    Phase.READY: "green",
    Phase.STARTING: "yellow",
    Phase.WAITING: "yellow",
    Phase.FAILED: "bold red",
}
_NUMBERS = ("connections", "routes", "in/s", "out/s", "restarts", "up")


class LiveStatus:
    """A table of all servers, drawn in place.

    Args:
        title: Name of the topology.
        log_folder: Where the logs are, to be shown.
        stream: The terminal.
    """

    def __init__(self, title: str, log_folder: Path, stream: IO[str]) -> None:
        self._title = title
        self._log_folder = log_folder
        # No refresh thread: the supervisor calls `show` when there is something to show.
        self._live = Live(
            console=Console(file=stream, force_terminal=True, highlight=False),
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def show(self, rows: Sequence[ServerRow], now_ns: int) -> None:
        """Draw the table anew."""
        self._live.update(self._screen(rows, now_ns), refresh=True)

    def close(self) -> None:
        """Leave the last table standing, with the cursor below it."""
        self._live.stop()

    def _screen(self, rows: Sequence[ServerRow], now_ns: int) -> Group:
        is_going = not all(row.phase in {Phase.STOPPING, *_FINAL} for row in rows)
        hint = "Ctrl-C stops all" if is_going else "Ctrl-C again kills at once"
        parts: list[Text | Table] = [
            Text(f"{self._title}: {summary(totals(rows))}", style="bold", no_wrap=True),
            _table(rows, now_ns),
            *(_problem(row) for row in rows if row.problem),
            Text(f"logs in {self._log_folder}", style="dim", overflow="fold"),
        ]
        if not all(row.phase.is_final for row in rows):
            parts.append(Text(hint, style="dim"))
        return Group(*parts)


_FINAL = frozenset(phase for phase in Phase if phase.is_final)


def _table(rows: Sequence[ServerRow], now_ns: int) -> Table:
    has_http = any(row.report.http for row in rows)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("server", "state", "pid", "client", "cluster", *(["http"] if has_http else [])):
        table.add_column(name, no_wrap=True)
    for name in _NUMBERS:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row, now_ns, has_http=has_http))
    return table


def _cells(row: ServerRow, now_ns: int, *, has_http: bool) -> list[str | Text]:
    report = row.report
    state = "silent" if row.is_silent(now_ns) else row.phase.value
    style = "bold red" if row.is_silent(now_ns) else _STYLES.get(row.phase, "dim")
    return [
        row.name,
        Text(state, style=style),
        str(row.pid or ""),
        report.client or "",
        report.cluster or "",
        *([report.http or ""] if has_http else []),
        str(report.connections),
        str(report.routes),
        rate(row.in_msgs_per_s),
        rate(row.out_msgs_per_s),
        str(row.restarts),
        duration(row.ready_s(now_ns)),
    ]


def _problem(row: ServerRow) -> Text:
    wait = f", next launch in {row.wait_s:g} s" if row.phase is Phase.WAITING else ""
    before = "before: " if row.phase.has_process else ""
    style = "yellow" if row.phase in {Phase.WAITING, Phase.FAILED} else "dim"
    return Text(f"{row.name}: {before}{row.problem}{wait}", style=style, overflow="fold")
