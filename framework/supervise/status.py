"""Status without a terminal: one line for each change."""

from __future__ import annotations

import os
from datetime import datetime
from typing import IO, TYPE_CHECKING, Protocol

from msgspec.structs import replace

from framework.spec.formats import rate_text
from framework.supervise.machine import Phase
from framework.supervise.row import ServerRow, Totals, totals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from framework.spec.status import StatusDetails, StatusLine, StatusSection

SUMMARY_INTERVAL_S = 60.0
"""At most so often a summary, and only when it would say something new."""

COUNTS_INTERVAL_S = 2.0
"""The same while counts of plugins change, as routes that come and go, which is over soon."""

_NS_PER_MS = 1_000_000


class Status(Protocol):
    """Show the status of servers."""

    def show(self, rows: Sequence[ServerRow], now_ns: int) -> None:
        """Show how all servers stand now; called at each change and once a second.

        Raises:
            OSError: It can't be written; BrokenPipeError: nobody reads it any more.
        """
        ...

    def close(self) -> None:
        """Leave the terminal as it should be; the last thing shown stays."""
        ...


class PlainStatus:
    """Lines for a log, a pipe or a test: what changed, and a summary now and then.

    Args:
        stream: Where the lines go.
        sections: What plugins show.
        wall_clock: Says what time it is; each line begins with it.
    """

    def __init__(
        self,
        stream: IO[str],
        sections: Sequence[StatusSection] = (),
        wall_clock: Callable[[], datetime] = datetime.now,
    ) -> None:
        self._stream = stream
        self._sections = sections
        self._wall_clock = wall_clock
        self._before: dict[str, ServerRow] = {}
        self._summary_text = ""
        self._summary_counts: object = None
        self._summary_ns: int | None = None
        self._was_silent: dict[str, bool] = {}
        self._details: dict[tuple[str, str], _Details] = {}

    def show(self, rows: Sequence[ServerRow], now_ns: int) -> None:
        """Write a line for each server that changed."""
        lines = [line for row in rows for line in self._changes(row, now_ns)]
        self._before = {row.name: row for row in rows}
        lines += self._summary(rows, now_ns, at_once=bool(lines))
        if lines:
            time = self._wall_clock().strftime("%Y/%m/%d %H:%M:%S")
            self._write("".join(f"{time} {line}\n" for line in lines))

    def close(self) -> None:
        """Do nothing: each line was written when it was due."""

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except BrokenPipeError:
            # What the stream holds is lost; Python would try once more at its end, and complain.
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, self._stream.fileno())
            os.close(nothing)
            raise

    def _changes(self, row: ServerRow, now_ns: int) -> list[str]:
        before = self._before.get(row.name)
        lines = []
        if before is None or before.headline != row.headline:
            lines.append(f"{row.name} {headline(row, self._sections)}")
        was_silent = self._was_silent.get(row.name, False)
        self._was_silent[row.name] = row.is_silent(now_ns)
        if self._was_silent[row.name] and not was_silent:
            lines.append(f"{row.name} silent pid {row.pid}: it runs, but no longer reports")
        if was_silent and not row.is_silent(now_ns) and row.phase is Phase.READY:
            lines.append(f"{row.name} reports again")
        reload = row.report.reload
        if before and reload and reload != before.report.reload:
            lines.append(f"{row.name} {reload.text}")
        for section in self._sections:
            if section.details:
                new = _Details(section.field, section.details)
                details = self._details.setdefault((row.name, section.field), new)
                lines += [f"{row.name} {line}" for line in details.changes(row, now_ns)]
        return lines

    def _summary(self, rows: Sequence[ServerRow], now_ns: int, *, at_once: bool) -> list[str]:
        if self._summary_ns is None:
            self._summary_ns = now_ns
        sums = totals(rows, summed_titles(self._sections))
        elapsed_s = (now_ns - self._summary_ns) / 1e9
        is_whole = sums.ready == sums.servers
        is_joining = is_whole and sums.counts != self._summary_counts
        is_due = elapsed_s >= (COUNTS_INTERVAL_S if is_joining else SUMMARY_INTERVAL_S)
        text = summary(sums)
        if text == self._summary_text or not (is_due or (at_once and is_whole)):
            return []
        self._summary_text, self._summary_counts, self._summary_ns = text, sums.counts, now_ns
        return [text]


class _Details:
    """Details of one server, of which a line is written when they have settled.

    While servers start, connections come one by one; only what two reports say alike is told.
    """

    def __init__(self, field: str, details: StatusDetails) -> None:
        self._field = field
        self._details = details
        self._told: tuple[StatusLine, ...] = ()
        self._seen: tuple[StatusLine, ...] = ()
        self._seen_ns: int | None = None

    def changes(self, row: ServerRow, now_ns: int) -> list[str]:
        """Return the lines that are new; none of a server that is not ready."""
        lines = lines_now(row, self._field, now_ns)
        if row.phase is not Phase.READY or lines is None:
            self._told = self._seen = ()
            return []
        untimed = tuple(replace(line, times_ns=None) for line in lines)
        if untimed != self._seen:
            self._seen, self._seen_ns = untimed, row.heard_ns
            return []
        if self._seen == self._told or self._seen_ns == row.heard_ns:
            return []
        told, self._told = self._told, self._seen
        both = zip(lines, untimed, strict=True)
        texts = [self._text(line) for line, plain in both if plain not in told]
        return texts if lines else [self._details.none]

    def _text(self, line: StatusLine) -> str:
        times = times_text([line.times_ns])
        return f"{line.text}, {self._details.times_title} {times}" if times else line.text


def lines_now(row: ServerRow, field: str, now_ns: int) -> list[StatusLine] | None:
    """Return the lines of a section that are shown of a server now; None: it has no section."""
    report = row.report.sections.get(field)
    if report is None:
        return None
    is_settling = row.is_settling(now_ns)
    return [line for line in report.lines if not (line.waits and is_settling)]


def summed_titles(sections: Iterable[StatusSection]) -> list[str]:
    """Return the titles of the columns of plugins that are summed."""
    return [column.title for it in sections for column in it.columns if column.is_summed]


def times_text(ranges: Iterable[tuple[int, int] | None]) -> str:
    """Return the shortest and the longest time: `0.21 ms`, `0.2-1.4 ms`; empty for none."""
    known = [it for it in ranges if it is not None]
    if not known:
        return ""
    limits = min(shortest for shortest, _ in known), max(longest for _, longest in known)
    shortest, longest = (_digits(ns / _NS_PER_MS) for ns in limits)
    return f"{shortest} ms" if shortest == longest else f"{shortest}-{longest} ms"


def _digits(ms: float) -> str:
    return f"{ms:.2f}" if ms < 1 else f"{ms:.1f}" if ms < 100 else f"{ms:.0f}"  # noqa: PLR2004 -- digits


def headline(row: ServerRow, sections: Iterable[StatusSection] = ()) -> str:
    """Return the state of one server in one line, without its name."""
    match row.phase:
        case Phase.READY:
            return f"ready {addresses(row, sections)} pid {row.pid}"
        case Phase.STARTING | Phase.DRAINING | Phase.STOPPING:
            return f"{row.phase.value} pid {row.pid}"
        case Phase.WAITING:
            return f"down, next launch in {row.wait_s:g} s: {row.problem}"
        case Phase.FAILED:
            return f"failed: {row.problem}"
        case _:
            return str(row.phase.value)


def addresses(row: ServerRow, sections: Iterable[StatusSection]) -> str:
    """Return where a server listens: `client 127.0.0.1:4222 cluster …`."""
    report = row.report
    titles = [column.title for it in sections for column in it.columns if column.is_address]
    theirs = [(title, report.cell(title)) for title in titles]
    named = (("client", report.client), *theirs, ("http", report.http))
    return " ".join(f"{name} {address}" for name, address in named if address)


def summary(sums: Totals) -> str:
    """Return all servers in one line."""
    counts = "".join(f"{title} {count}, " for title, count in sums.counts.items())
    return (
        f"{sums.ready}/{sums.servers} ready, connections {sums.connections}, {counts}"
        f"in {rate_text(sums.in_msgs_per_s)} msgs/s, "
        f"out {rate_text(sums.out_msgs_per_s)} msgs/s, restarts {sums.restarts}"
    )


def duration(seconds: float) -> str:
    """Return a time span in its two largest units: `4s`, `3m07s`, `2h05m`, `3d04h`."""
    minutes, rest_s = divmod(int(seconds), 60)
    hours, rest_minutes = divmod(minutes, 60)
    days, rest_hours = divmod(hours, 24)
    if days:
        return f"{days}d{rest_hours:02}h"
    if hours:
        return f"{hours}h{rest_minutes:02}m"
    return f"{minutes}m{rest_s:02}s" if minutes else f"{rest_s}s"
