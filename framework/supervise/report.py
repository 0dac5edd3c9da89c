"""Status lines of a server process: one JSON object a line."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - msgspec reads annotations
from typing import TYPE_CHECKING, Any, Final

from msgspec import MsgspecError, Struct, convert
from msgspec.json import Decoder
from msgspec.structs import replace

from framework.supervise.limits import STATUS_LINE_BYTES_MAX
from framework.supervise.sections import SectionReport, read_sections
from framework.supervise.shown import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from framework.spec.status import StatusSection

_DECODER: Final = Decoder(dict[str, Any])


class ReloadReport(Struct, frozen=True, kw_only=True):
    """How the last reload of a server ended."""

    count: int
    """Reloads of this process so far, refused ones included."""
    error: str = ""
    """Why it was refused; empty: it was not."""
    options: tuple[str, ...] = ()
    """Dotted paths of what has changed; only the first few."""
    options_left_out: int = 0

    @property
    def text(self) -> str:
        """What the server did, in words."""
        if self.error:
            return f"refused the reload: {printable(self.error)}"
        if not self.options:
            return "reloaded, nothing has changed"
        more = [f"{self.options_left_out} more"] if self.options_left_out else []
        return f"reloaded: {', '.join([*map(printable, self.options), *more])}"


class StatusReport(Struct, frozen=True, kw_only=True):
    """One status line. Counters only grow, within one process."""

    pid: int = 0
    ready: bool = False
    client: str | None = None
    """`host:port`, as bound."""
    http: str | None = None
    connections: int = 0
    in_msgs: int = 0
    """From clients, as all that follow are of clients; other servers would count it twice."""
    out_msgs: int = 0
    in_bytes: int = 0
    out_bytes: int = 0
    slow_consumers: int = 0
    lame_duck: bool = False
    reload: ReloadReport | None = None
    """None before the first."""
    sections: Mapping[str, SectionReport] = {}
    """What plugins show of it, by field of the line."""

    def cell(self, title: str) -> str | int:
        """Return what the column of a plugin has; empty: nothing."""
        found = (it.cells[title] for it in self.sections.values() if title in it.cells)
        return next(found, "")


def report_from_line(line: bytes, sections: Iterable[StatusSection] = ()) -> StatusReport | None:
    """Return the report that `line` holds, or None when it is none.

    Fields we do not know are left out: a newer server may say more.
    A field of the wrong kind makes the whole line worthless, but for those that plugins read.
    """
    try:
        document = _DECODER.decode(line)
        document.pop("sections", None)
        read = read_sections(document, sections)
        return replace(convert(document, StatusReport), sections=read)
    except (MsgspecError, RecursionError):
        return None


class LineSplitter:
    """Cut a stream of bytes into lines, holding at most `line_bytes_max` of one.

    A longer line comes out cut to that length, once; `overlong_count` counts them.
    """

    def __init__(self, line_bytes_max: int = STATUS_LINE_BYTES_MAX) -> None:
        assert line_bytes_max > 0
        self._line_bytes_max = line_bytes_max
        self._held = b""
        self._skipping = False
        self.overlong_count = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that are complete now, without their ends."""
        *complete, rest = data.split(b"\n")
        lines = []
        for piece in complete:
            if not self._skipping:
                lines.append(self._cut(self._held + piece))
            self._held, self._skipping = b"", False
        if self._skipping:
            return lines
        self._held += rest
        if len(self._held) > self._line_bytes_max:
            lines.append(self._cut(self._held))
            self._held, self._skipping = b"", True
        return lines

    def take_rest(self) -> bytes:
        """Return what stands after the last line end: what a process said while dying."""
        rest, self._held = self._held, b""
        return rest

    def _cut(self, line: bytes) -> bytes:
        if len(line) <= self._line_bytes_max:
            return line.removesuffix(b"\r")
        self.overlong_count += 1
        return line[: self._line_bytes_max]
