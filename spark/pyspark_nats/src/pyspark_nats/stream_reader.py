"""A streaming read: `spark.readStream.format("nats")`.

All that a query knows is in its checkpoint: the next sequence of each stream, and which stream that
is. A batch is the messages between two such offsets, so it is the same however often it is read;
and its parts depend on its offsets alone, so that what it writes under ids is the same as well.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from pyspark_nats.connection import Connection
from pyspark_nats.errors import ConnectionLostError, RequestTimeoutError
from pyspark_nats.jetstream import JetStream
from pyspark_nats.offsets import Position, json_of, loss, positions_of, shares
from pyspark_nats.plan import check_names, ranges_of, sequence_at, stream_states, ways_of
from pyspark_nats.progress import Progress
from pyspark_nats.pull import CONSUMER, DIRECT, EXPORT
from pyspark_nats.ranges import cut_even, part_count
from pyspark_nats.reader import TO_LATEST, RangePartition, RangeReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from pyspark_nats.jetstream import StreamState
    from pyspark_nats.options import ReadOptions


class NatsStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Says how far the streams are, and reads what lies between two offsets."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._ranges = RangeReader(options, schema)
        self._connection: Connection | None = None
        self._frozen: dict[str, int] | None = None
        """Where `Trigger.AvailableNow` ends."""
        self._seen: dict[str, Position] = {}
        """Ends as last asked for, for `reportLatestOffset`."""
        self._ways: dict[str, tuple[str, str]] = {}
        """Of each stream, how it is read."""
        self._waiting_since_s: float | None = None
        self._progress: Progress | None = None

    # -- offsets ----------------------------------------------------------------------------------

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return where a query without a checkpoint begins."""
        starting = self._options.starting or TO_LATEST

        def begin(api: JetStream) -> dict[str, Position]:
            states = stream_states(api, self._options.streams)
            check_names(starting, states, "startingOffsets")
            found: dict[str, Position] = {}
            for name, state in states.items():
                seq = sequence_at(api, state, starting, "startingOffsets")
                if seq < state.first_seq and state.is_cut_by_limits:
                    self._ranges.lose(f"stream {name!r} begins at {state.first_seq}, after {seq}")
                found[name] = Position(max(seq, state.first_seq), state.id)
            return found

        return json_of(self._ask(begin))

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - as above
        """Return where the next batch ends: `start` when there is too little to begin one."""
        positions = positions_of(start)
        states = self._ask(lambda api: stream_states(api, self._options.streams))
        self._seen = {name: Position(state.end, state.id) for name, state in states.items()}
        backlog, begun = self._backlog(positions, states)
        if self._is_too_little(sum(backlog.values())):
            return start
        self._waiting_since_s = None
        given = shares(backlog, limit_of(limit, self._options, states))
        ends = {name: Position(it.next + given[name], it.id) for name, it in begun.items()}
        return json_of({**positions, **ends})

    def _backlog(
        self, positions: dict[str, Position], states: dict[str, StreamState]
    ) -> tuple[dict[str, int], dict[str, Position]]:
        """Return how many sequences there are to read in each stream, and from where."""
        backlog: dict[str, int] = {}
        begun: dict[str, Position] = {}
        for name in positions.keys() - states.keys():
            self._ranges.lose(f"stream {name!r} of the checkpoint is gone, or no longer chosen")
        for name, state in states.items():
            position = positions.get(name, Position(state.first_seq, state.id))
            is_other = state.id != position.id or state.end < position.next
            if reason := loss(position, state):
                self._ranges.lose(reason)
            if is_other or state.first_seq > position.next:
                position = Position(state.first_seq, state.id)
            end = state.end
            if self._frozen is not None:
                end = min(end, self._frozen.get(name, position.next))
            backlog[name] = max(end - position.next, 0)
            begun[name] = position
        return backlog, begun

    def _is_too_little(self, count: int) -> bool:
        """Whether to wait for `minOffsetsPerTrigger`, at most `maxTriggerDelay`."""
        least = self._options.trigger_offsets_min
        if least is None or count >= least or self._frozen is not None:
            return False
        now_s = time.monotonic()
        if self._waiting_since_s is None:
            self._waiting_since_s = now_s
        return now_s - self._waiting_since_s < self._options.trigger_delay_max_s

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - as above
        """Return the limit of options."""
        most = self._options.trigger_offsets_max
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - as above
        """Return the ends of the streams, for the lag that Spark shows."""
        return json_of(self._seen) if self._seen else None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - as above
        """Remember where the streams end now; that is where the query ends."""
        states = self._ask(lambda api: stream_states(api, self._options.streams))
        self._frozen = {name: state.end for name, state in states.items()}

    # -- batches ----------------------------------------------------------------------------------

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return the parts of a batch, by its offsets alone."""
        options = self._options
        begins, ends = positions_of(start), positions_of(end)
        found = []
        for name, stop in ends.items():
            begin = begins.get(name, Position(1, stop.id))
            # Another stream of that name begins anew: that it did was reported when it was seen.
            low = begin.next if begin.id == stop.id else 1
            parts = part_count(
                max(stop.next - low, 0), options.partitions_min, options.partition_rows_max
            )
            pairs = cut_even(low, stop.next, parts)
            found += ranges_of(name, stop.id, pairs, options.subjects, self._ways_of(name))
        told = self._connection.told() if self._connection is not None else ()
        return [RangePartition(each, number, told) for number, each in enumerate(found)]

    def _ways_of(self, name: str) -> tuple[str, str]:
        """Return how a stream is read; what it is has been asked before, but after a restart."""
        if self._options.protocol in {CONSUMER, DIRECT, EXPORT}:
            return self._options.protocol, ""
        if name not in self._ways:
            self._ways[name] = self._ask(lambda api: ways_of(api, self._options, api.stream(name)))
        return self._ways[name]

    def read(self, partition: RangePartition) -> Iterator[pa.RecordBatch]:
        """Yield the batches of one partition."""
        return self._ranges.read_range(partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Publish how far the query is, when that was asked for; what counts is the checkpoint."""
        if not self._options.progress:
            return
        if self._progress is None:
            self._progress = Progress(self._options.progress, self._options.domain)
        progress = self._progress
        positions = {name: it.next for name, it in positions_of(end).items()}
        ends = {name: it.next for name, it in self._seen.items()}
        try:
            self._ask(lambda api: progress.publish(api, positions, ends))
        except Exception as error:  # noqa: BLE001 - a batch that is done is not failed by its report
            self._progress = progress.without(error)

    def stop(self) -> None:
        """Close what is open."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask(self, question: Callable[[JetStream], Any]) -> Any:
        """Ask over the connection that is kept, or over a new one when that was lost."""
        deadline_s = time.monotonic() + self._options.target.reconnect_timeout_s
        while True:
            if self._connection is None:
                left_s = max(deadline_s - time.monotonic(), 0)
                self._connection = Connection(self._options.target, patience_s=left_s)
            try:
                return question(JetStream(self._connection, self._options.domain))
            except (ConnectionLostError, RequestTimeoutError):
                self.stop()
                if time.monotonic() > deadline_s:
                    raise


def limit_of(limit: ReadLimit, options: ReadOptions, states: dict[str, StreamState]) -> int:
    """Return how many sequences a batch may have, of rows and of bytes."""
    most = limit.max_rows if isinstance(limit, ReadMaxRows) else 1 << 62
    if options.trigger_bytes_max is not None:
        messages = sum(state.messages for state in states.values())
        size_bytes = sum(state.size_bytes for state in states.values())
        most = min(most, max(options.trigger_bytes_max * messages // max(size_bytes, 1), 1))
    return most
