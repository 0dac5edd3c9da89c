"""What plugins make of a status line: cells and lines, as plain data."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - msgspec reads annotations
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from framework.spec.status import StatusLine  # noqa: TC001 - the same
from framework.supervise.shown import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from framework.spec.status import StatusColumn, StatusSection


class SectionReport(Struct, frozen=True, kw_only=True):
    """One section of one server."""

    cells: Mapping[str, str | int] = {}
    """By title of the column."""
    lines: tuple[StatusLine, ...] = ()


def read_sections(
    document: Mapping[str, object], sections: Iterable[StatusSection]
) -> dict[str, SectionReport]:
    """Return the sections, by field, of which a status line says something that makes sense."""
    found = {section.field: _read(document.get(section.field), section) for section in sections}
    return {field: report for field, report in found.items() if report is not None}


def _read(said: object, section: StatusSection) -> SectionReport | None:
    if said is None:
        return None
    try:
        value = section.read(said)
        if value is None:
            return None
        cells = {column.title: _cell(column, value) for column in section.columns}
        lines = tuple(section.details.lines(value)) if section.details else ()
        return SectionReport(
            cells=cells,
            lines=tuple(_shown_line(line) for line in lines),
        )
    except Exception:  # noqa: BLE001 - servers may be of another version than the plugin here
        return None


def _cell(column: StatusColumn, value: object) -> str | int:
    cell = column.cell(value)
    return int(cell) if column.is_summed else printable(str(cell))


def _shown_line(line: StatusLine) -> StatusLine:
    return replace(
        line,
        cells=tuple(map(printable, line.cells)),
        text=printable(line.text),
        problem=printable(line.problem),
    )
