"""Status without a terminal: one line for each change."""

from __future__ import annotations

import os
from datetime import datetime
from typing import IO, TYPE_CHECKING, Protocol

from framework.supervise.machine import Phase
from framework.supervise.routes import RoutesLine, RttRange, routes_lines, rtt_text
from framework.supervise.row import ServerRow, Totals, totals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SUMMARY_INTERVAL_S = 60.0
"""At most so often a summary, and only when it would say something new."""

MESH_INTERVAL_S = 2.0
"""The same while routes come and go, which is over soon."""


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
        wall_clock: Says what time it is; each line begins with it.
    """

    def __init__(self, stream: IO[str], wall_clock: Callable[[], datetime] = datetime.now) -> None:
        self._stream = stream
        self._wall_clock = wall_clock
        self._before: dict[str, ServerRow] = {}
        self._summary_text = ""
        self._summary_routes = 0
        self._summary_ns: int | None = None
        self._was_silent: dict[str, bool] = {}
        self._routes: dict[str, _Routes] = {}

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
            lines.append(f"{row.name} {headline(row)}")
        was_silent = self._was_silent.get(row.name, False)
        self._was_silent[row.name] = row.is_silent(now_ns)
        if self._was_silent[row.name] and not was_silent:
            lines.append(f"{row.name} silent pid {row.pid}: it runs, but no longer reports")
        if was_silent and not row.is_silent(now_ns) and row.phase is Phase.READY:
            lines.append(f"{row.name} reports again")
        reload = row.report.reload
        if before and reload and reload != before.report.reload:
            lines.append(f"{row.name} {reload.text}")
        routes = self._routes.setdefault(row.name, _Routes())
        return lines + [f"{row.name} {line}" for line in routes.changes(row, now_ns)]

    def _summary(self, rows: Sequence[ServerRow], now_ns: int, *, at_once: bool) -> list[str]:
        if self._summary_ns is None:
            self._summary_ns = now_ns
        sums = totals(rows)
        elapsed_s = (now_ns - self._summary_ns) / 1e9
        is_whole = sums.ready == sums.servers
        is_meshing = is_whole and sums.routes != self._summary_routes
        is_due = elapsed_s >= (MESH_INTERVAL_S if is_meshing else SUMMARY_INTERVAL_S)
        text = summary(sums)
        if text == self._summary_text or not (is_due or (at_once and is_whole)):
            return []
        self._summary_text, self._summary_routes, self._summary_ns = text, sums.routes, now_ns
        return [text]


class _Routes:
    """The routes of one server, of which a line is written when they have settled.

    While servers start, connections come one by one; only what two reports say alike is told.
    """

    def __init__(self) -> None:
        self._told: tuple[RoutesLine, ...] = ()
        self._seen: tuple[RoutesLine, ...] = ()
        self._seen_ns: int | None = None

    def changes(self, row: ServerRow, now_ns: int) -> list[str]:
        """Return the lines that are new; none of a server that is not ready."""
        mesh = row.report.mesh
        if row.phase is not Phase.READY or mesh is None:
            self._told = self._seen = ()
            return []
        rtts = dict(routes_lines(mesh, is_settling=row.is_settling(now_ns)))
        if tuple(rtts) != self._seen:
            self._seen, self._seen_ns = tuple(rtts), row.heard_ns
            return []
        if self._seen == self._told or self._seen_ns == row.heard_ns:
            return []
        told, self._told = self._told, self._seen
        texts = [_with_rtt(line, rtt) for line, rtt in rtts.items() if line not in told]
        return texts if rtts else ["has no routes"]


def _with_rtt(line: RoutesLine, range_ns: RttRange) -> str:
    rtt = rtt_text(range_ns)
    return f"{line}, rtt {rtt}" if rtt else str(line)


def headline(row: ServerRow) -> str:
    """Return the state of one server in one line, without its name."""
    match row.phase:
        case Phase.READY:
            return f"ready {addresses(row)} pid {row.pid}"
        case Phase.STARTING | Phase.DRAINING | Phase.STOPPING:
            return f"{row.phase.value} pid {row.pid}"
        case Phase.WAITING:
            return f"down, next launch in {row.wait_s:g} s: {row.problem}"
        case Phase.FAILED:
            return f"failed: {row.problem}"
        case _:
            return str(row.phase.value)


def addresses(row: ServerRow) -> str:
    """Return where a server listens: `client 127.0.0.1:4222 cluster …`."""
    report = row.report
    named = (("client", report.client), ("cluster", report.cluster), ("http", report.http))
    return " ".join(f"{name} {address}" for name, address in named if address)


def summary(sums: Totals) -> str:
    """Return all servers in one line."""
    return (
        f"{sums.ready}/{sums.servers} ready, connections {sums.connections}, "
        f"routes {sums.routes}, in {rate(sums.in_msgs_per_s)} msgs/s, "
        f"out {rate(sums.out_msgs_per_s)} msgs/s, restarts {sums.restarts}"
    )


def rate(per_s: float) -> str:
    """Return a rate with three digits at most: `0`, `950`, `12.3k`, `4.56M`."""
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if per_s >= limit:
            value = per_s / limit
            digits = 2 if value < 10 else 1 if value < 100 else 0  # noqa: PLR2004 -- digits
            return f"{value:.{digits}f}{unit}"
    return f"{per_s:.0f}"


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
