"""Rows to Arrow batches, exactly as Spark expects the columns.

Nothing of Python is made a scalar or an array of Arrow where rows come from an export: pyarrow
imports pandas for that, for longer than a small read takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_nats.frames import header_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark_nats.rows import Rows

_NANOSECONDS = pa.timestamp("ns", "UTC")


class BatchMaker:
    """Makes Arrow batches of one stream's rows.

    Args:
        stream: For the column of that name.
        schema: Columns that are wanted, as `to_arrow_schema` says them.
        batch_rows: Rows of a batch, at most.
    """

    def __init__(self, stream: str, schema: pa.Schema, batch_rows: int) -> None:
        self._stream = stream
        self._schema = schema
        self._batch_rows = batch_rows

    def batches(self, parts: Iterable[Rows]) -> Iterator[pa.RecordBatch]:
        """Yield the rows as batches that are as large as they came, up to `batch_rows`."""
        for rows in parts:
            for at in range(0, len(rows.sequence), self._batch_rows):
                yield self.batch(rows.cut(at, at + self._batch_rows))

    def batch(self, rows: Rows) -> pa.RecordBatch:
        """Return one batch of all `rows`."""
        arrays = [self._column(field, rows) for field in self._schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _column(self, field: pa.Field, rows: Rows) -> pa.Array:
        if field.name == "stream":
            return _repeated(self._stream.encode(), len(rows.sequence))
        return _COLUMNS[field.name](rows, field.type)


def _repeated(text: bytes, count: int) -> pa.Array:
    offsets = pa.py_buffer(np.arange(0, len(text) * count + 1, len(text), dtype=np.int32))
    buffers = [None, offsets, pa.py_buffer(text * count)]
    return pa.Array.from_buffers(pa.string(), count, buffers)


def _maps(rows: Rows, kind: pa.DataType) -> pa.Array:
    """Return a map of name to values for each row; null where a message has no headers."""
    if rows.headers is None:
        return pa.nulls(len(rows.sequence), kind)
    return header_maps(rows.headers.to_pylist(), kind)


def header_maps(blocks: Iterable[bytes | None], kind: pa.DataType) -> pa.Array:
    """Return header blocks as maps of name to values; null where there is none."""
    return pa.array([_map(each) for each in blocks], kind)


def _map(headers: bytes | None) -> list[tuple[str, list[str]]] | None:
    if headers is None:
        return None
    values: dict[str, list[str]] = {}
    for name, value in header_pairs(headers):
        values.setdefault(name, []).append(value)
    return list(values.items())


_COLUMNS: dict[str, Callable[[Rows, pa.DataType], pa.Array]] = {
    "subject": lambda rows, kind: rows.subject.cast(kind),
    "sequence": lambda rows, _: rows.sequence,
    # Spark's timestamps count microseconds; the rest of them is left out, which is not safe.
    "timestamp": lambda rows, kind: rows.timestamp_ns.view(_NANOSECONDS).cast(kind, safe=False),
    "timestamp_ns": lambda rows, _: rows.timestamp_ns,
    "data": lambda rows, _: rows.data,
    "size": lambda rows, _: pc.binary_length(rows.data) if rows.size is None else rows.size,
    "headers": _maps,
}
