"""Tables in Arrow's format for streams of bytes, made of columns, without pyarrow.

Whoever knows Arrow reads them: pyarrow, pandas, polars, DuckDB.

Source: Arrow Columnar Format, "Serialization and Interprocess Communication"; `Schema.fbs`,
`Message.fbs`.
"""

from __future__ import annotations

import struct
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from framework.wire.flatbuffer import document, pairs, table, tables, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

    from framework.wire.flatbuffer import Place

_VERSION: Final = ("h", 4)
"""V5 of the metadata."""
_SCHEMA, _RECORD_BATCH = ("B", 1), ("B", 3)
_CONTINUES: Final = b"\xff\xff\xff\xff"
END: Final = _CONTINUES + bytes(4)
"""Behind the last batch."""


class Type(Enum):
    """The type of a column: its number in the union `Type`, and the table that belongs to it."""

    INT32 = (2, (("i", 32), ("?", 1)))
    INT64 = (2, (("i", 64), ("?", 1)))
    BINARY = (4, ())
    UTF8 = (5, ())
    TIMESTAMP_NS = (10, (("h", 3), text("UTC")))


_BUFFERS: Final = {Type.BINARY: 3, Type.UTF8: 3}
"""Of a column of such a type in a batch, where there are more than a bitmap and the values."""


class Column(NamedTuple):
    """Values of one column in one batch."""

    buffers: tuple[Buffer, ...]
    """Bitmap of those that are not null (empty: none is), then the data; of texts, their offsets
    first."""
    null_count: int = 0


def schema_message(columns: Sequence[tuple[str, Type]]) -> bytes:
    """Return what stands before the batches: names and types; every column may have nulls."""
    fields = [
        table(text(name), ("?", 1), ("B", it.value[0]), table(*it.value[1]), None, tables(()))
        for name, it in columns
    ]
    return _message(_SCHEMA, table(("h", 0), tables(fields)), 0)


def batch_message(count: int, columns: Sequence[Column]) -> list[Buffer]:
    """Return a batch, as parts to be joined.

    Args:
        count: Rows.
        columns: Those of the schema, in its order.
    """
    nodes = [(count, column.null_count) for column in columns]
    places: list[tuple[int, int]] = []
    body: list[Buffer] = []
    end = 0
    for buffer in (it for column in columns for it in column.buffers):
        size = memoryview(buffer).nbytes
        places.append((end, size))
        body.append(buffer)
        if padding := -size % 8:
            body.append(bytes(padding))
        end += size + padding
    header = table(("q", count), pairs(nodes), pairs(places))
    return [_message(_RECORD_BATCH, header, end), *body]


class Template(NamedTuple):
    """The metadata of a batch, for who makes batches in compiled code: numbers are to be put in.

    The numbers have 64 bits and are little-endian.
    """

    data: bytes
    """What stands before the columns; a multiple of 8 bytes."""
    rows_at: int
    """Where the number of rows stands."""
    body_at: int
    """Where the number of bytes behind the metadata stands."""
    nodes_at: int
    """Where rows and nulls of each column stand, one column behind the other."""
    places_at: int
    """Where begin and length of each buffer stand, as `Column.buffers` has them."""


def batch_template(types: Sequence[Type]) -> Template:
    """Return the metadata of batches with columns of these types; at least one."""
    marks = [0x7E00_0000_0000_0000 + at for at in range(4)]
    rows, body, node, place = marks
    nodes = [(node, 0), *((0, 0) for _ in types[1:])]
    buffers = sum(_BUFFERS.get(it, 2) for it in types)
    places = [(place, 0), *((0, 0) for _ in range(buffers - 1))]
    header = table(("q", rows), pairs(nodes), pairs(places))
    data = _message(_RECORD_BATCH, header, body)
    return Template(data, *(data.index(struct.pack("<q", mark)) for mark in marks))


def _message(kind: tuple[str, int], header: Place, body_bytes: int) -> bytes:
    metadata = document(table(_VERSION, kind, header, ("q", body_bytes)))
    metadata += bytes(-(len(metadata) + 8) % 8)
    return _CONTINUES + struct.pack("<i", len(metadata)) + metadata
