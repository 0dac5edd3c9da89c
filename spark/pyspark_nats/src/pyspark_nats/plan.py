"""Which streams a read is of, where it begins and ends there, and its parts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark_nats.errors import ApiError, LoginError, OptionError
from pyspark_nats.jetstream import NOT_IN_CLUSTERS, STREAM_NOT_FOUND
from pyspark_nats.options import EARLIEST, LATEST
from pyspark_nats.pull import CONSUMER, DIRECT, EXPORT, Range
from pyspark_nats.ranges import cut_by_count, cut_even, part_count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark_nats.jetstream import JetStream, StreamState
    from pyspark_nats.options import Bounds, ReadOptions, Streams
    from pyspark_nats.pushdown import Limits

WORK_QUEUE = "workqueue"
CLOCKS_DIFFER_NS = 60 * 1_000_000_000
"""By which a server's clock may go back, where an upper bound of time says what is read."""
SPARSE = 2
"""Parts are cut by count when less than one message in so many matches the subjects."""


def stream_states(api: JetStream, streams: Streams) -> dict[str, StreamState]:
    """Return the streams that a read is of, by name.

    Raises:
        OptionError: There is none.
    """
    found = streams.names
    if streams.pattern:
        matches = re.compile(streams.pattern).fullmatch
        found = tuple(name for name in api.stream_names() if matches(name))
    elif streams.subject:
        found = tuple(api.stream_names(streams.subject))
    if not found:
        option = "streamPattern" if streams.pattern else "subscribe"
        value = streams.pattern or streams.subject
        there = ", ".join(api.stream_names()) or "none, in this account"
        raise OptionError(option, f"no stream for {value!r}", f"for the streams {there}")
    return {name: _state(api, name) for name in found}


def _state(api: JetStream, name: str) -> StreamState:
    try:
        return api.stream(name)
    except ApiError as error:
        if error.err_code != STREAM_NOT_FOUND:
            raise
        there = ", ".join(api.stream_names()) or "none, in this account"
        raise OptionError("stream", f"there is no stream {name!r}", there) from None


def sequence_at(api: JetStream, state: StreamState, bounds: Bounds, option: str) -> int:
    """Return the sequence that `bounds` means in a stream; one that lies outside stays as it is."""
    timestamp_ms = bounds.timestamps_ms.get(state.name, bounds.timestamp_ms)
    if timestamp_ms is not None:
        return min(api.seq_at(state.name, timestamp_ms * 1_000_000), state.end)
    value = bounds.sequences.get(state.name, bounds.word)
    if value == EARLIEST:
        return state.first_seq
    if value == LATEST:
        return state.end
    assert isinstance(value, int)
    if value > state.end:
        raise OptionError(
            option,
            f"{value} is beyond the end of stream {state.name!r}",
            f"{state.first_seq} to {state.end}",
        )
    return value


def within_times(
    api: JetStream, state: StreamState, start: int, end: int, limits: Limits
) -> tuple[int, int]:
    """Return the part of `start` <= sequence < `end` whose times may pass a query's filters.

    Times need not rise with sequences: clocks are set back, and leaders have clocks of their own.
    Before the first message of a time there is none of it; behind the first that is too late
    there may be some, for as long as clocks differ by.
    """
    # Where consumers can't be made without taking, or not at all, Spark's own filter is enough.
    if start >= end or state.retention == WORK_QUEUE:
        return start, end
    try:
        if limits.begin_ns > 0:
            start = max(start, api.seq_at(state.name, limits.begin_ns))
        if limits.end_ns is not None:
            behind_ns = max(limits.end_ns, 0) + CLOCKS_DIFFER_NS
            end = min(end, api.seq_at(state.name, behind_ns))
    except (ApiError, LoginError):
        pass
    return start, end


def check_names(bounds: Bounds | None, names: Mapping[str, object], option: str) -> None:
    """Refuse offsets of streams that are not read."""
    for name in (*bounds.sequences, *bounds.timestamps_ms) if bounds else ():
        if name not in names:
            raise OptionError(option, f"stream {name!r} is not read", ", ".join(names))


def batch_parts(
    api: JetStream, options: ReadOptions, state: StreamState, start: int, end: int
) -> list[Range]:
    """Cut what a batch reads of one stream; by counts where few messages match."""
    width = end - start
    if width <= 0:
        return []
    pairs = cut_even(
        start, end, part_count(width, options.partitions_min, options.partition_rows_max)
    )
    ways = ways_of(api, options, state)
    # A consumer that counts would be one that takes.
    if options.subjects and ways[0] != DIRECT and state.retention != WORK_QUEUE:
        matching = _matching(api, state.name, (start, end), options.subjects)
        if matching is not None and matching * SPARSE < width:
            parts = part_count(matching, options.partitions_min, options.partition_rows_max)
            pairs = _cut_sparse(api, options, state, (start, end), parts)
    return ranges_of(state.name, state.id, pairs, options.subjects, ways)


def _matching(
    api: JetStream, stream: str, whole: tuple[int, int], subjects: tuple[str, ...]
) -> int | None:
    """Return how many messages match; None: the server can't make what would count them."""
    try:
        first, end = (api.pending(stream, seq, subjects) for seq in whole)
    except ApiError as error:
        if error.err_code != NOT_IN_CLUSTERS:
            raise
        return None
    return first - end


def _cut_sparse(
    api: JetStream, options: ReadOptions, state: StreamState, whole: tuple[int, int], parts: int
) -> list[tuple[int, int]]:
    if parts <= 1:
        return [whole] if parts else []
    return cut_by_count(*whole, parts, lambda seq: api.pending(state.name, seq, options.subjects))


def ways_of(api: JetStream, options: ReadOptions, state: StreamState) -> tuple[str, str]:
    """Return how a stream is read, and how where that is refused; empty: it has to be so.

    Raises:
        OptionError: It can't be read as the options want it.
    """
    if options.protocol in {"auto", EXPORT} and api.has_exports(state.name):
        return EXPORT, "" if options.protocol == EXPORT else _way_besides(options, state)
    if options.protocol == EXPORT:
        problem = f"'export', and the server of stream {state.name!r} has none for this user"
        raise OptionError("protocol", problem, "consumer, auto")
    return DIRECT if is_direct(options, state) else CONSUMER, ""


def _way_besides(options: ReadOptions, state: StreamState) -> str:
    try:
        return DIRECT if is_direct(options, state) else CONSUMER
    except OptionError:
        return ""


def is_direct(options: ReadOptions, state: StreamState) -> bool:
    """Return whether a stream is read by direct gets, as a work queue must be without exports.

    Raises:
        OptionError: It can't be read so.
    """
    if options.protocol == "consumer" and state.retention == WORK_QUEUE:
        problem = f"'consumer', and stream {state.name!r} is a work queue"
        raise OptionError("protocol", problem, "direct, auto")
    if options.protocol != "direct" and state.retention != WORK_QUEUE:
        return False
    if not state.allow_direct:
        valid = "consumer" if state.retention != WORK_QUEUE else "streams with allow_direct"
        raise OptionError("protocol", f"stream {state.name!r} lacks allow_direct", valid)
    if len(options.subjects) > 1:
        raise OptionError("subject", "several, and messages are got directly", "one filter")
    return True


def ranges_of(
    stream: str,
    id_: str,
    pairs: list[tuple[int, int]],
    subjects: tuple[str, ...],
    ways: tuple[str, str],
) -> list[Range]:
    """Return the ranges of these (first, behind the last) sequences."""
    return [Range(stream, id_, low, high, subjects, *ways) for low, high in pairs]
