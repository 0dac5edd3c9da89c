"""Rows of a tap's stream: each message is a frame, a table in Arrow's format for streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import ipc

from pyspark_nats.columns import header_maps
from pyspark_nats.errors import NatsSourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark_nats.rows import Rows


class FrameReader:
    """Makes Arrow batches of frames.

    Args:
        stream: For the column of that name.
        schema: Columns that are wanted, as `to_arrow_schema` says them. Frames of other versions
            of the tap may lack some: these are null.
        batch_rows: Rows of a batch, at most.
    """

    def __init__(self, stream: str, schema: pa.Schema, batch_rows: int) -> None:
        self._stream = stream
        self._schema = schema
        self._batch_rows = batch_rows

    def batches(self, parts: Iterable[Rows]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all frames, of several frames together."""
        for rows in parts:
            tables: list[pa.Table] = []
            count = 0
            for seq, data in zip(rows.sequence, rows.data, strict=True):
                table = self._table(seq.as_py(), data.as_buffer())
                tables.append(table)
                count += table.num_rows
                if count >= self._batch_rows:
                    yield from self._joined(tables)
                    tables, count = [], 0
            yield from self._joined(tables)

    def _joined(self, tables: list[pa.Table]) -> Iterator[pa.RecordBatch]:
        if tables:
            whole = pa.concat_tables(tables).combine_chunks()
            yield from whole.to_batches(max_chunksize=self._batch_rows)

    def _table(self, seq: int, data: pa.Buffer) -> pa.Table:
        """Return the wanted columns of one frame."""
        try:
            frame = ipc.open_stream(data).read_all()
        except (pa.ArrowInvalid, OSError) as error:
            raise NatsSourceError(
                f"stream {self._stream!r}: message {seq} is no frame of a tap ({error}); "
                "to read it as a message, leave out the option 'view'"
            ) from error
        arrays = [self._column(field, frame, seq) for field in self._schema]
        return pa.Table.from_arrays(arrays, schema=self._schema)

    def _column(self, field: pa.Field, frame: pa.Table, seq: int) -> pa.Array:
        if field.name == "stream":
            return pa.repeat(pa.scalar(self._stream, field.type), frame.num_rows)
        if field.name == "sequence":
            return pa.repeat(pa.scalar(seq, field.type), frame.num_rows)
        if field.name not in frame.column_names:
            return pa.nulls(frame.num_rows, field.type)
        column = frame.column(field.name)
        if field.name == "headers":
            return header_maps(column.to_pylist(), field.type)
        # Of nanoseconds, what Spark's timestamps have no room for goes.
        return column.cast(field.type, safe=False)
