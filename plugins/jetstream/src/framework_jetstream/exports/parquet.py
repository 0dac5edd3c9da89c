"""Batches of an export as a Parquet file, made while it is sent: no pyarrow.

    file     = "PAR1" *group footer length "PAR1"
    group    = a column chunk for each column, each a page for each batch

Values are plain and not compressed: those of an Arrow batch, but for texts, before each of which
stands its length. Where a column may be null, the bits of who is not are Arrow's.

Source: Apache Parquet, "File Format", "Encodings", "Data Pages"; `parquet.thrift`.
"""

from __future__ import annotations

import struct as binary
from typing import TYPE_CHECKING, Final, NamedTuple

from framework.wire.arrow import Type
from framework_jetstream.exports._plain import plain_texts
from framework_jetstream.exports.table import COLUMNS
from framework_jetstream.exports.thrift import TRUE, i32, i64, items, struct, structs, text, varint

if TYPE_CHECKING:
    from framework_jetstream.exports.table import Table
    from framework_jetstream.exports.thrift import Value

GROUP_BYTES: Final = 2 * 1024 * 1024
"""A row group is sent when it has as many; until then it is in memory."""
_MAGIC: Final = b"PAR1"
_INT32, _INT64, _BYTE_ARRAY = 1, 2, 6
_PLAIN, _RLE = 0, 3
_REQUIRED, _OPTIONAL = 0, 1
_DATA_PAGE: Final = 0
_UNCOMPRESSED: Final = 0
_NULLABLE: Final = "headers"
_NOTHING: Final = struct({})
_PHYSICAL: Final = {
    Type.INT32: _INT32,
    Type.INT64: _INT64,
    Type.TIMESTAMP_NS: _INT64,
    Type.UTF8: _BYTE_ARRAY,
    Type.BINARY: _BYTE_ARRAY,
}
_LOGICAL: Final = {
    Type.UTF8: struct({1: _NOTHING}),
    Type.TIMESTAMP_NS: struct({8: struct({1: TRUE, 2: struct({3: _NOTHING})})}),
}
"""STRING; TIMESTAMP in UTC, in nanoseconds."""


class _Chunk(NamedTuple):
    """One column of the row group that is being gathered."""

    pages: list[bytes]
    name: str
    kind: Type


class ParquetFile:
    """Makes a file of batches.

    Args:
        table: What each batch has.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._chunks = [_Chunk([], it, COLUMNS[it]) for it in table.names]
        self._group_rows = self._group_bytes = 0
        self._groups = bytearray()
        """What the footer says of those that were sent."""
        self._group_count = self._rows = 0
        self._sent = 0

    def begin(self) -> bytes:
        """Return how a file begins."""
        self._sent = len(_MAGIC)
        return _MAGIC

    def add(self, batch: bytes) -> bytes:
        """Take a batch; return what can be sent now, empty: nothing yet.

        Args:
            batch: A message of Arrow's format, as an export sends it.

        Raises:
            ValueError: It is no batch of the table.
        """
        rows, columns = self._columns_of(batch)
        for chunk, (nulls, buffers) in zip(self._chunks, columns, strict=True):
            page = _page(chunk, rows, nulls, buffers)
            chunk.pages.append(page)
            self._group_bytes += len(page)
        self._group_rows += rows
        return self._end_group() if self._group_bytes >= GROUP_BYTES else b""

    def end(self) -> bytes:
        """Return the rest of the file."""
        rest = self._end_group() if self._group_rows else b""
        footer = struct({
            1: i32(2),
            2: items(self._schema()),
            3: i64(self._rows),
            4: structs(self._group_count, bytes(self._groups)),
            6: text("framework"),
        }).data  # fmt: skip
        return rest + footer + binary.pack("<I", len(footer)) + _MAGIC

    def _columns_of(self, batch: bytes) -> tuple[int, list[tuple[int, list[memoryview]]]]:
        """Return the rows of a batch, and of each column its nulls and its buffers."""
        template = self._table.batch
        body = len(template.data)
        if batch[:8] != template.data[:8] or len(batch) < body:
            raise ValueError("no batch of this table")
        view = memoryview(batch)
        rows: int = binary.unpack_from("<q", batch, template.rows_at)[0]
        node, place = template.nodes_at, template.places_at
        columns = []
        for chunk in self._chunks:
            nulls: int = binary.unpack_from("<qq", batch, node)[1]
            count = 3 if _PHYSICAL[chunk.kind] == _BYTE_ARRAY else 2
            ends = binary.unpack_from(f"<{2 * count}q", batch, place)
            buffers = [
                view[body + start : body + start + size]
                for start, size in zip(ends[::2], ends[1::2], strict=True)
            ]
            columns.append((nulls, buffers))
            node += 16
            place += 16 * count
        return rows, columns

    def _end_group(self) -> bytes:
        parts: list[bytes] = []
        metadata = []
        size = 0
        for chunk in self._chunks:
            data = b"".join(chunk.pages)
            chunk.pages.clear()
            metadata.append(_chunk_metadata(chunk, self._group_rows, self._sent + size, len(data)))
            parts.append(data)
            size += len(data)
        self._groups += struct({1: items(metadata), 2: i64(size), 3: i64(self._group_rows)}).data
        self._group_count += 1
        self._rows += self._group_rows
        self._sent += size
        self._group_rows = self._group_bytes = 0
        return b"".join(parts)

    def _schema(self) -> list[Value]:
        return [
            struct({4: text("schema"), 5: i32(len(self._chunks))}),
            *(_schema_of(it.name, it.kind) for it in self._chunks),
        ]


def _schema_of(name: str, kind: Type) -> Value:
    return struct({
        1: i32(_PHYSICAL[kind]),
        3: i32(_OPTIONAL if name == _NULLABLE else _REQUIRED),
        4: text(name),
        **({6: i32(0)} if kind is Type.UTF8 else {}),
        **({10: _LOGICAL[kind]} if kind in _LOGICAL else {}),
    })  # fmt: skip


def _chunk_metadata(chunk: _Chunk, rows: int, at: int, size_bytes: int) -> Value:
    return struct({
        2: i64(at),
        3: struct({
            1: i32(_PHYSICAL[chunk.kind]),
            2: items([i32(_PLAIN), i32(_RLE)]),
            3: items([text(chunk.name)]),
            4: i32(_UNCOMPRESSED),
            5: i64(rows),
            6: i64(size_bytes),
            7: i64(size_bytes),
            9: i64(at),
        }),
    })  # fmt: skip


def _page(chunk: _Chunk, rows: int, nulls: int, buffers: list[memoryview]) -> bytes:
    """Return the values of a column in one batch, with what stands before them."""
    bits = buffers[0] if nulls else b""
    levels = _levels(rows, bits) if chunk.name == _NULLABLE else b""
    is_text = _PHYSICAL[chunk.kind] == _BYTE_ARRAY
    values = plain_texts(buffers[1], buffers[2], bits) if is_text else buffers[1]
    size = len(levels) + len(values)
    header = struct({
        1: i32(_DATA_PAGE),
        2: i32(size),
        3: i32(size),
        5: struct({1: i32(rows), 2: i32(_PLAIN), 3: i32(_RLE), 4: i32(_RLE)}),
    })  # fmt: skip
    return b"".join((header.data, levels, values))


def _levels(rows: int, bits: memoryview | bytes) -> bytes:
    """Return which values of a column are there; no bits: all of them."""
    if bits:
        groups = (rows + 7) // 8
        runs = varint(groups << 1 | 1) + bytes(bits[:groups])
    else:
        runs = varint(rows << 1) + b"\1"
    return binary.pack("<I", len(runs)) + runs
