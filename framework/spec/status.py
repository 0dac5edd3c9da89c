"""What `framework run` shows of a plugin's part of its servers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec import Struct

from framework.spec._checks import check, check_function, check_name

CORE_COLUMNS: Final = {
    "server": None,
    "state": None,
    "client": None,
    "conns": None,
    "in/s": 70,
    "out/s": 60,
    "pid": 50,
    "http": 40,
    "up": 30,
    "restarts": 20,
}
"""Columns of the core, and when a narrow terminal does without them; None: never."""


class StatusColumn(Struct, frozen=True, kw_only=True):
    """A column in the table of servers."""

    title: str
    """In lower case, unique."""
    cell: Callable[[Any], str | int]
    """Takes what `StatusSection.read` returned; an empty text is nothing."""
    priority: int
    """A narrow terminal does without columns of low priority first: the core's have 20 (restarts),
    30 (up), 40 (http), 50 (pid), 60 (out/s) and 70 (in/s)."""
    is_address: bool = False
    """It stands beside the address for clients, also in the line that a server is ready."""
    is_summed: bool = False
    """A number, 0 where a server says nothing; the summary has the sum of all servers."""

    def __post_init__(self) -> None:
        check_name("status column", self.title)
        check_function(f"status column {self.title}", "cell", self.cell)


class StatusLine(Struct, frozen=True, kw_only=True):
    """One line of details about one server."""

    cells: tuple[str, ...]
    """One for each title of the table; servers with the same lines share them."""
    text: str
    """The line in a log, behind the name of the server; written when it is new."""
    problem: str = ""
    """What is wrong, as the table ends with it; empty: nothing."""
    times_ns: tuple[int, int] | None = None
    """Shortest and longest of some times, shown beside the cells; a change of them is no news."""
    waits: bool = False
    """It is not shown of a server that has just become ready: the others have to come up, too."""


class StatusDetails(Struct, frozen=True, kw_only=True):
    """A table below that of the servers."""

    title: str
    """Of its first column, which has the names of servers, such as `routes of`."""
    titles: tuple[str, ...]
    times_title: str
    """Of the column of `times_ns`, such as `rtt`."""
    none: str
    """What a log says of a server that has no line any more, such as `has no routes`."""
    lines: Callable[[Any], Iterable[StatusLine]]
    """Takes what `StatusSection.read` returned."""
    unfolded: tuple[str, ...] = ()
    """Titles of columns that are not folded in a narrow terminal."""

    def __post_init__(self) -> None:
        check_function(f"status table {self.title}", "lines", self.lines)


class StatusSection(Struct, frozen=True, kw_only=True):
    """Show what one field of the servers' status lines says.

    Its functions run in the process of `framework run`, for each status line; servers may be of
    another version than that. Where one raises, the server is shown as if it had said nothing.
    """

    field: str
    """The `status` of a MonitorEndpoint."""
    read: Callable[[Any], Any]
    """Takes what the endpoint answered, as JSON has it; returns what the other functions take, or
    None: nothing to show. It checks what it takes, and bounds it."""
    columns: tuple[StatusColumn, ...] = ()
    details: StatusDetails | None = None

    def __post_init__(self) -> None:
        what = f"status section {self.field}"
        check(what, "field", self.field, is_good=bool(self.field), expected="a name")
        check_function(what, "read", self.read)
