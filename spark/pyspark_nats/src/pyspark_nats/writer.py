"""A write: `frame.write.format("nats")` and `frame.writeStream`.

With ids (the default) a stream takes each row once, however often a task is tried, for as long as
its window of duplicates reaches; with the ledger, without that limit.
"""

from __future__ import annotations

import contextlib
import uuid
import warnings
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from pyspark_nats.collector import leave_loaded
from pyspark_nats.connection import Connection
from pyspark_nats.errors import OptionError
from pyspark_nats.jetstream import JetStream
from pyspark_nats.ledger import Entry, Ledger, rows_written
from pyspark_nats.messages import MessageMaker, check_columns
from pyspark_nats.publisher import CorePublisher, Publisher
from pyspark_nats.pull import Range

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from pyspark_nats.jetstream import StreamState
    from pyspark_nats.options import WriteOptions

WINDOW_S = 600
"""A shorter window of duplicates is worth a warning: an outage may be longer."""


@dataclass
class Written(WriterCommitMessage):
    """What one task did."""

    rows: int
    duplicates: int
    """Rows that were there already."""


@dataclass
class RowWriter:
    """Writes the rows of tasks; batches and streams have it in common."""

    options: WriteOptions
    columns: tuple[str, ...]
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Of ids, where neither option nor query has one."""

    def check(self) -> None:
        """Find out where rows go, before any task begins.

        Raises:
            OptionError: No stream takes them, or it is not known which.
        """
        options = self.options
        if not options.subject and "subject" not in self.columns:
            raise OptionError("subject", "not set, and rows have none", "a subject, or a column")
        if options.idempotence == "ledger" and "msg_id" in self.columns:
            raise OptionError("idempotence", "'ledger', and rows have ids of their own", "msgid")
        if options.delivery == "core":
            return
        with contextlib.closing(Connection(options.target)) as connection:
            state = self._stream(JetStream(connection, options.domain))
        if state and options.idempotence == "msgid" and state.duplicate_window_s < WINDOW_S:
            warnings.warn(
                f"nats: stream {state.name!r} knows duplicates for {state.duplicate_window_s:g} s; "
                "a job that is restarted later writes rows twice: raise its duplicate_window, or "
                "set idempotence=ledger",
                stacklevel=2,
            )

    def _stream(self, api: JetStream) -> StreamState | None:
        """Return the stream that takes all rows; None when rows decide."""
        options = self.options
        if options.stream:
            return api.stream(options.stream)
        if "subject" in self.columns:
            if options.idempotence == "ledger":
                raise OptionError("stream", "not set; the ledger is of one stream", "its name")
            return None
        names = api.stream_names(options.subject)
        if not names:
            there = ", ".join(api.stream_names()) or "none, in this account"
            raise OptionError(
                "subject", f"no stream takes {options.subject!r}", f"of the streams {there}"
            )
        return api.stream(names[0])

    def write(self, batches: Iterator[pa.RecordBatch]) -> Written:
        """Write the rows of one task."""
        leave_loaded()
        context = TaskContext.get()
        assert context is not None
        partition = context.partitionId()
        batch = int(context.getLocalProperty("streaming.sql.batchId") or 0)
        key = self.options.idempotency_key
        key = key or context.getLocalProperty("sql.streaming.queryId") or self.key
        if self.options.idempotence == "ledger":
            return self._write_once(batches, key, batch, partition)
        prefix = f"{key}/{batch}/{partition}/" if self.options.idempotence == "msgid" else ""
        return self._publish(batches, prefix, frozenset())

    def _publish(
        self, batches: Iterator[pa.RecordBatch], prefix: str, there: frozenset[int]
    ) -> Written:
        options = self.options
        publisher = (
            CorePublisher(options.target)
            if options.delivery == "core"
            else Publisher(options.target, options.ack_window)
        )
        maker = MessageMaker(options.subject, options.stream, prefix, publisher.reply)
        first = 0
        with contextlib.closing(publisher):
            for batch in batches:
                numbers = range(first, first + batch.num_rows)
                wires = maker.wires(batch, first)
                if there:
                    wires = compress(wires, [number not in there for number in numbers])
                publisher.publish(wires)
                first = numbers.stop
            publisher.finish()
        return Written(first, publisher.duplicates + len(there))

    def _write_once(
        self, batches: Iterator[pa.RecordBatch], key: str, batch: int, partition: int
    ) -> Written:
        options = self.options
        prefix = f"{key}/{batch}/{partition}/"
        with contextlib.closing(Connection(options.target)) as connection:
            api = JetStream(connection, options.domain)
            ledger = Ledger(api, options.ledger_stream, key, partition)
            entry = ledger.last()
            if entry.batch > batch or (entry.batch == batch and entry.is_done):
                rows = sum(each.num_rows for each in batches)
                return Written(rows, rows)
            state = self._stream(api)
            assert state is not None
            there: frozenset[int] = frozenset()
            if entry.batch == batch:
                written = Range(state.name, state.id, max(entry.seq, state.first_seq), state.end)
                there = rows_written(options.target, options.domain, written, prefix)
            else:
                begun = Entry(batch, is_done=False, seq=state.end, ledger_seq=entry.ledger_seq)
                entry = ledger.put(begun)
        done = self._publish(batches, prefix, there)
        with contextlib.closing(Connection(options.target)) as connection:
            api = JetStream(connection, options.domain)
            ledger = Ledger(api, options.ledger_stream, key, partition)
            ledger.put(entry._replace(is_done=True))
        return done


class NatsWriter(DataSourceArrowWriter):
    """Writes a frame."""

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        self._rows = RowWriter(options, check_columns(schema))
        self._rows.check()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task."""
        return self._rows.write(iterator)

    def commit(self, messages: list[Any]) -> None:
        """Do nothing: rows are stored."""

    def abort(self, messages: list[Any]) -> None:
        """Do nothing: a stream keeps what it has; ids keep it from being there twice."""


class NatsStreamWriter(DataSourceStreamArrowWriter):
    """Writes the batches of a streaming query."""

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        self._rows = RowWriter(options, check_columns(schema))
        self._rows.check()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task."""
        return self._rows.write(iterator)

    def commit(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Do nothing: rows are stored."""

    def abort(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - as above
        """Do nothing: a stream keeps what it has; ids keep it from being there twice."""
