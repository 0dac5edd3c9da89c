"""The status table: one row a server, drawn anew in a terminal."""

from __future__ import annotations

from contextlib import suppress
from typing import IO, TYPE_CHECKING, NamedTuple

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from framework.supervise.machine import Phase
from framework.supervise.routes import routes_lines
from framework.supervise.row import ServerRow, totals
from framework.supervise.status import duration, rate, summary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rich.console import JustifyMethod

_STYLES = {
    Phase.READY: "green",
    Phase.STARTING: "yellow",
    Phase.DRAINING: "yellow",
    Phase.WAITING: "yellow",
    Phase.FAILED: "bold red",
}

WIDE_COLUMNS_MIN = 105
"""Characters of a terminal that has room for every column."""


class _Column(NamedTuple):
    title: str
    cell: Callable[[ServerRow, int], str | Text]
    is_number: bool = False
    only_wide: bool = False


class LiveStatus:
    """Draw the status table in place.

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
            console=Console(
                file=stream, force_terminal=True, highlight=False, markup=False, emoji=False
            ),
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
        with suppress(OSError):  # a terminal that was closed shows nothing any more
            self._live.stop()

    def _screen(self, rows: Sequence[ServerRow], now_ns: int) -> Group:
        is_going = not all(row.phase in {Phase.STOPPING, *_FINAL} for row in rows)
        hint = "Ctrl-C stops all" if is_going else "Ctrl-C again kills at once"
        is_wide = self._live.console.width >= WIDE_COLUMNS_MIN
        parts: list[Text | Table] = [
            Text(
                f"{self._title}: {summary(totals(rows))}",
                style="bold",
                no_wrap=True,
                overflow="ellipsis",
            ),
            _table(rows, now_ns, is_wide=is_wide),
            *_routes(rows),
            *(_problem(row) for row in rows if row.problem),
            *(_refusal(row) for row in rows if row.report.reload and row.report.reload.error),
            Text(f"logs in {self._log_folder}", style="dim", overflow="fold"),
        ]
        if not all(row.phase.is_final for row in rows):
            parts.append(Text(hint, style="dim"))
        return Group(*parts)


_FINAL = frozenset(phase for phase in Phase if phase.is_final)


def _state(row: ServerRow, now_ns: int) -> Text:
    if row.is_silent(now_ns):
        return Text("silent", style="bold red")
    return Text(row.phase.value, style=_STYLES.get(row.phase, "dim"))


_COLUMNS = (
    _Column("server", lambda row, _: row.name),
    _Column("state", _state),
    _Column("pid", lambda row, _: str(row.pid or ""), is_number=True, only_wide=True),
    _Column("client", lambda row, _: row.report.client or ""),
    _Column("cluster", lambda row, _: row.report.cluster or "", only_wide=True),
    _Column("http", lambda row, _: row.report.http or "", only_wide=True),
    _Column("conns", lambda row, _: str(row.report.connections), is_number=True),
    _Column("routes", lambda row, _: str(row.report.routes), is_number=True),
    _Column("in/s", lambda row, _: rate(row.in_msgs_per_s), is_number=True),
    _Column("out/s", lambda row, _: rate(row.out_msgs_per_s), is_number=True),
    _Column("restarts", lambda row, _: str(row.restarts), is_number=True),
    _Column("up", lambda row, now_ns: duration(row.ready_s(now_ns)), is_number=True),
)


def _table(rows: Sequence[ServerRow], now_ns: int, *, is_wide: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    shown = []
    for column in _COLUMNS:
        cells = [column.cell(row, now_ns) for row in rows]
        if any(cells) and (is_wide or not column.only_wide):
            justify: JustifyMethod = "right" if column.is_number else "left"
            table.add_column(column.title, justify=justify, no_wrap=True)
            shown.append(cells)
    for cells_of_row in zip(*shown, strict=True):
        table.add_row(*cells_of_row)
    return table


def _routes(rows: Sequence[ServerRow]) -> list[Table]:
    """Return a table of all routes, if there are any or should be."""
    shown = [
        (row.name if at == 0 else "", line, rtt)
        for row in rows
        if row.report.mesh is not None
        for at, (line, rtt) in enumerate(routes_lines(row.report.mesh))
    ]
    if not shown:
        return []
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("routes of", "to", "pool", "accounts", "compression", "rtt", ""):
        table.add_column(title, overflow="fold", no_wrap=title in {"pool", "rtt"})
    for name, line, rtt in shown:
        lack = Text(line.lack, style="yellow")
        table.add_row(
            *(Text(text) for text in (name, line.to, line.pool, line.accounts)),
            *(Text(text) for text in (line.compression, rtt)),
            lack,
        )
    return [table]


def _refusal(row: ServerRow) -> Text:
    text = row.report.reload.text if row.report.reload else ""
    return Text(f"{row.name}: {text}", style="yellow", overflow="fold")


def _problem(row: ServerRow) -> Text:
    wait = f", next launch in {row.wait_s:g} s" if row.phase is Phase.WAITING else ""
    before = "before: " if row.phase.has_process else ""
    style = "yellow" if row.phase in {Phase.WAITING, Phase.FAILED} else "dim"
    return Text(f"{row.name}: {before}{row.problem}{wait}", style=style, overflow="fold")
