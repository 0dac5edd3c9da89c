"""The columns of an export, and what stands around their batches.

The engine's numbers of columns are those of columns in `_export.pyx`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework.wire.arrow import Template, Type, batch_template, schema_message

if TYPE_CHECKING:
    from collections.abc import Collection

COLUMNS: Final = {
    "sequence": Type.INT64,
    "timestamp": Type.TIMESTAMP_NS,
    "subject": Type.UTF8,
    "headers": Type.BINARY,
    "data": Type.BINARY,
    "size": Type.INT32,
}
"""In the engine's order, which is also that of a table. Header blocks are as on the wire, null
where a message has none; sizes are of payloads."""


class Table(Struct, frozen=True):
    """The columns of one export."""

    names: tuple[str, ...]
    wanted: int
    """A bit for each, by its number."""
    schema: bytes
    """Stands before the first batch."""
    batch: Template
    """Of the metadata of a batch."""


def table_of(names: Collection[str]) -> Table:
    """Return a table with these columns.

    Args:
        names: Of `COLUMNS`; none: all of them.
    """
    columns = [(name, kind) for name, kind in COLUMNS.items() if name in names or not names]
    wanted = sum(1 << at for at, name in enumerate(COLUMNS) if name in dict(columns))
    return Table(
        names=tuple(name for name, _ in columns),
        wanted=wanted,
        schema=schema_message(columns),
        batch=batch_template([kind for _, kind in columns]),
    )
