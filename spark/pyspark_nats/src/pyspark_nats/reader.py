"""A batch read: `spark.read.format("nats")`."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from pyspark_nats.collector import leave_loaded
from pyspark_nats.columns import BatchMaker
from pyspark_nats.connection import Connection
from pyspark_nats.documents import EventMaker
from pyspark_nats.jetstream import JetStream
from pyspark_nats.offsets import refuse_unless
from pyspark_nats.options import EARLIEST, LATEST, Bounds
from pyspark_nats.plan import (
    batch_parts,
    check_names,
    sequence_at,
    stream_states,
    within_times,
)
from pyspark_nats.pull import COLUMNS, PullReader, Range
from pyspark_nats.pushdown import Limits, limits_of, of_sequences
from pyspark_nats.tapped import FrameReader
from pyspark_nats.views import EVENTS, MESSAGES, TAP, VIEWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

    from pyspark_nats.connection import Address
    from pyspark_nats.options import ReadOptions

FROM_EARLIEST = Bounds(EARLIEST, {}, None)
TO_LATEST = Bounds(LATEST, {}, None)


@dataclass
class RangePartition(InputPartition):
    """One range, read by one task."""

    range: Range
    number: int
    """From 0: which server is asked first."""
    told: tuple[Address, ...] = ()
    """Servers that may be asked beside those of the options."""


class RangeReader:
    """Reads ranges in tasks; batches and streams have it in common.

    Args:
        options: Checked.
        schema: Of Spark, the columns that are wanted.
    """

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema

    def connect(self) -> contextlib.closing[Connection]:
        """Return a connection for questions, to be used in a `with`."""
        return contextlib.closing(Connection(self._options.target))

    def lose(self, reason: str) -> None:
        """Fail for a loss, or say it and go on."""
        refuse_unless(reason, fail=self._options.fail_on_data_loss)
        warnings.warn(f"nats: {reason}", stacklevel=2)

    def read_range(self, partition: RangePartition) -> Iterator[pa.RecordBatch]:
        """Yield the batches of one range."""
        leave_loaded()
        options, range_ = self._options, partition.range
        schema = to_arrow_schema(self._schema, timezone="UTC")
        target = options.target.rotated(partition.number, partition.told)
        columns = schema.names if options.view == MESSAGES else COLUMNS
        rows = PullReader(target, options.domain, range_, self.lose, columns=columns).read()
        if options.view in EVENTS:
            view = VIEWS[options.view]
            return EventMaker(range_.stream, view, schema, options.batch_rows).batches(rows)
        if options.view == TAP:
            return FrameReader(range_.stream, schema, options.batch_rows).batches(rows)
        return BatchMaker(range_.stream, schema, options.batch_rows).batches(rows)


class NatsReader(DataSourceReader):
    """Reads ranges of streams as they are when the query is planned."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._ranges = RangeReader(options, schema)
        self._limits = Limits()

    def partitions(self) -> list[InputPartition]:
        """Return one partition a range."""
        options = self._options
        starting, ending = options.starting or FROM_EARLIEST, options.ending or TO_LATEST
        found: list[Range] = []
        with self._ranges.connect() as connection:
            told = connection.told()
            api = JetStream(connection, options.domain)
            states = stream_states(api, options.streams)
            check_names(starting, states, "startingOffsets")
            check_names(ending, states, "endingOffsets")
            for state in states.values():
                start = sequence_at(api, state, starting, "startingOffsets")
                end = sequence_at(api, state, ending, "endingOffsets")
                if start < state.first_seq and state.is_cut_by_limits:
                    self._ranges.lose(
                        f"stream {state.name!r} begins at {state.first_seq}, after {start} "
                        "of startingOffsets"
                    )
                start, end = self._limits.clamp(max(start, state.first_seq), end)
                start, end = within_times(api, state, start, end, self._limits)
                narrowed = replace(options, subjects=self._limits.subjects or options.subjects)
                found += batch_parts(api, narrowed, state, start, end)
        return [RangePartition(each, number, told) for number, each in enumerate(found)]

    def read(self, partition: RangePartition) -> Iterator[pa.RecordBatch]:
        """Yield the batches of one partition; Spark makes one of its own when there is none."""
        if not isinstance(partition, RangePartition):
            return iter(())
        return self._ranges.read_range(partition)


class PushdownNatsReader(NatsReader):
    """Takes filters of the query, too; Spark refuses such a reader unless it is told to push."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Read less where a filter allows it; Spark applies all of them again."""
        filters = list(filters)
        # A message of a tap's stream is many rows, whose subjects are in it.
        pushed = filters if self._options.view != TAP else of_sequences(filters)
        self._limits = limits_of(pushed, self._options.subjects)
        return filters
