"""The status table: one row a server, drawn anew in a terminal."""

from __future__ import annotations

from contextlib import suppress
from typing import IO, TYPE_CHECKING, NamedTuple

from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from framework.spec.formats import rate_text
from framework.spec.status import CORE_COLUMNS
from framework.supervise.machine import Phase
from framework.supervise.row import ServerRow, totals
from framework.supervise.status import (
    duration,
    lines_now,
    summary,
    summed_titles,
    times_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rich.console import JustifyMethod

    from framework.spec.status import StatusColumn, StatusLine, StatusSection

_STYLES = {
    Phase.READY: "green",
    Phase.STARTING: "yellow",
    Phase.DRAINING: "yellow",
    Phase.WAITING: "yellow",
    Phase.FAILED: "bold red",
}

MANY_SERVERS = 4
"""So many servers in one state are not named one by one."""

_GAP = 2
"""Characters between two columns."""


class _Column(NamedTuple):
    title: str
    cell: Callable[[ServerRow, int], str | Text]
    is_number: bool = False
    priority: int | None = None


class LiveStatus:
    """Draw the status table in place.

    Args:
        title: Name of the topology.
        log_folder: Where the logs are, to be shown.
        stream: The terminal.
        sections: What plugins show.
    """

    def __init__(
        self,
        title: str,
        log_folder: Path,
        stream: IO[str],
        sections: Sequence[StatusSection] = (),
    ) -> None:
        self._title = title
        self._sections = sections
        self._columns = _columns(sections)
        self._log_folder = log_folder
        self._console = Console(
            file=stream, force_terminal=True, highlight=False, markup=False, emoji=False
        )
        self._size = self._console.size
        self._live = self._begin()

    def _begin(self) -> Live:
        # No refresh thread: the supervisor calls `show` when there is something to show.
        live = Live(
            console=self._console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        live.start()
        return live

    def show(self, rows: Sequence[ServerRow], now_ns: int) -> None:
        """Draw the table anew."""
        if self._console.size != self._size:
            # The terminal has wrapped the lines of the last frame: where it begins, nobody knows.
            self._size = self._console.size
            self._live.stop()
            self._console.clear()
            self._live = self._begin()
        self._live.update(self._screen(rows, now_ns), refresh=True)

    def close(self) -> None:
        """Leave the last table standing, with the cursor below it."""
        with suppress(OSError):  # a terminal that was closed shows nothing any more
            self._live.stop()

    def _screen(self, rows: Sequence[ServerRow], now_ns: int) -> Group:
        is_going = not all(row.phase in {Phase.STOPPING, *_FINAL} for row in rows)
        hint = "Ctrl-C stops all" if is_going else "Ctrl-C again kills at once"
        parts: list[Text | Table] = [
            Text(
                f"{self._title}: {summary(totals(rows, summed_titles(self._sections)))}",
                style="bold",
                no_wrap=True,
                overflow="ellipsis",
            ),
            _table(self._columns, rows, now_ns, self._console.width),
            *(it for section in self._sections for it in _details(section, rows, now_ns)),
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


def _columns(sections: Sequence[StatusSection]) -> list[_Column]:
    """Return all columns, from left to right."""
    theirs = [column for section in sections for column in section.columns]
    return [
        _Column("server", lambda row, _: row.name),
        _Column("state", _state),
        _Column("pid", lambda row, _: str(row.pid or ""), is_number=True),
        _Column("client", lambda row, _: row.report.client or ""),
        *(_column_of(it) for it in theirs if it.is_address),
        _Column("http", lambda row, _: row.report.http or ""),
        _Column("conns", lambda row, _: str(row.report.connections), is_number=True),
        *(_column_of(it) for it in theirs if not it.is_address),
        _Column("in/s", lambda row, _: rate_text(row.in_msgs_per_s), is_number=True),
        _Column("out/s", lambda row, _: rate_text(row.out_msgs_per_s), is_number=True),
        _Column("restarts", lambda row, _: str(row.restarts), is_number=True),
        _Column("up", lambda row, now_ns: duration(row.ready_s(now_ns)), is_number=True),
    ]


def _column_of(column: StatusColumn) -> _Column:
    nothing = "0" if column.is_summed else ""

    def cell(row: ServerRow, _now_ns: int) -> str:
        return str(row.report.cell(column.title)) or nothing

    return _Column(column.title, cell, column.is_summed, column.priority)


def _table(columns: Sequence[_Column], rows: Sequence[ServerRow], now_ns: int, width: int) -> Table:
    cells = {column.title: [column.cell(row, now_ns) for row in rows] for column in columns}
    shown = {title: column for title, column in cells.items() if any(column)}
    ranks = {it.title: CORE_COLUMNS.get(it.title, it.priority) for it in columns}
    dropped = {title: rank for title, rank in ranks.items() if rank is not None}
    for title in sorted(dropped, key=dropped.__getitem__):
        if _width(shown) > width:
            shown.pop(title, None)
    if _width(shown) > width and "client" in shown:  # rather than to cut the port off
        shown["client"] = [f":{str(it).rpartition(':')[2]}" if it else "" for it in shown["client"]]
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        if column.title in shown:
            justify: JustifyMethod = "right" if column.is_number else "left"
            table.add_column(column.title, justify=justify, no_wrap=True)
    for cells_of_row in zip(*shown.values(), strict=True):
        table.add_row(*cells_of_row)
    return table


def _width(shown: Mapping[str, Sequence[str | Text]]) -> int:
    """Return how many characters a table needs."""
    widths = [
        max(cell_len(str(cell)) for cell in (title, *column)) for title, column in shown.items()
    ]
    return sum(widths) + _GAP * (len(widths) - 1)


def _details(section: StatusSection, rows: Sequence[ServerRow], now_ns: int) -> list[Table]:
    """Return a table of the lines of a section, if there are any; servers alike share a line."""
    if section.details is None:
        return []
    told = {row.name: lines_now(row, section.field, now_ns) for row in rows}
    having = {name: lines for name, lines in told.items() if lines is not None}
    alike: dict[tuple[StatusLine, ...], list[str]] = {}
    for name, lines in having.items():
        alike.setdefault(tuple(replace(line, times_ns=None) for line in lines), []).append(name)
    titles = (*section.details.titles, section.details.times_title)
    table = Table(box=None, pad_edge=False, header_style="dim")
    unwrapped = {*section.details.unfolded, section.details.times_title}
    for title in (section.details.title, *titles, ""):
        table.add_column(title, overflow="fold", no_wrap=title in unwrapped)
    for shared, servers in alike.items():
        is_all = len(servers) == len(having) >= MANY_SERVERS
        names = f"all {len(servers)}" if is_all else " ".join(servers)
        for at, line in enumerate(shared):
            times = times_text(having[name][at].times_ns for name in servers)
            texts = ("" if at else names, *line.cells, times)
            table.add_row(*map(Text, texts), Text(line.problem, style="yellow"))
    return [table] if table.row_count else []


def _refusal(row: ServerRow) -> Text:
    text = row.report.reload.text if row.report.reload else ""
    return Text(f"{row.name}: {text}", style="yellow", overflow="fold")


def _problem(row: ServerRow) -> Text:
    wait = f", next launch in {row.wait_s:g} s" if row.phase is Phase.WAITING else ""
    before = "before: " if row.phase.has_process else ""
    style = "yellow" if row.phase in {Phase.WAITING, Phase.FAILED} else "dim"
    return Text(f"{row.name}: {before}{row.problem}{wait}", style=style, overflow="fold")
