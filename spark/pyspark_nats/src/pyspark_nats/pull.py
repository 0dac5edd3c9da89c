"""Read one range of a stream, however often the connection breaks: as a rule by a pull consumer.

A consumer of its own, without acknowledgements and in memory: it takes nothing from a stream that
others read, and a reader that dies leaves nothing behind. Requests name counts and bytes, so that
the server never holds more for this reader than it lets a slow client have.

Where the range ends: at its last sequence, or where the server says that nothing is left and its
leader has no message in what remains. The pending count of a delivery is no such sign: it stays
above 0 when the last messages of a stream were deleted.
"""

from __future__ import annotations

import contextlib
import json
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyspark_nats.connection import Connection
from pyspark_nats.direct import END_OF_BATCH, rows_of
from pyspark_nats.errors import (
    ApiError,
    ConnectError,
    ConnectionLostError,
    DataLossError,
    RequestTimeoutError,
)
from pyspark_nats.export import Export, wanted_columns
from pyspark_nats.frames import Frame, header_pairs, pub, status
from pyspark_nats.jetstream import NOT_FOUND, STREAM_NOT_FOUND, JetStream, start_at
from pyspark_nats.rows import RowCutter, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark_nats.connection import Target
    from pyspark_nats.jetstream import StreamState

COLUMNS = ("subject", "sequence", "timestamp", "data", "headers")
REQUEST_MESSAGES_MAX = 50_000
"""The next request is sent when half of that is still to come."""
DIRECT_MESSAGES_MAX = 5000
REQUEST_BYTES = 8 << 20
"""Far from `max_pending` (64 MiB), after which nats-server ends a connection."""
REQUEST_BYTES_MAX = 64 << 20
CHUNK_BYTES = 4 << 20
"""Bytes that are cut at once."""
BATCH_COMPLETED = b"Batch Completed"
MESSAGE_TOO_LARGE = b"Message Size Exceeds MaxBytes"
RETRY_S = 0.1
QUIET_S = 5.0
"""Silence after which it is asked whether server and consumer are still there."""
REPLICA_S = 2.0
"""For the answer of a server that may have just gone; who leads the stream is asked then."""


CONSUMER, DIRECT, EXPORT = "consumer", "direct", "export"
"""Ways to read a range."""


@dataclass(frozen=True, slots=True)
class Range:
    """Messages `start` <= sequence < `end` of one stream, as far as their subjects match."""

    stream: str
    id: str
    """Of the stream (`StreamState.id`)."""
    start: int
    end: int
    subjects: tuple[str, ...] = ()
    """Wildcard filters; none: all messages."""
    way: str = CONSUMER
    """Or `DIRECT`, from the store without a consumer and with one filter at most, or `EXPORT`."""
    other_way: str = ""
    """Where exports are refused; empty: they have to be served some day."""


class PullReader:
    """Reads a range once, in order.

    Args:
        target: Servers.
        domain: Of JetStream; empty: the server's own.
        range_: What to read.
        lose: Called with the reason when messages of the range are gone; raises or lets it pass.
        columns: Of a read; those of an export, which may leave others out.
        headers_only: Leave payloads on the server.
    """

    def __init__(
        self,
        target: Target,
        domain: str,
        range_: Range,
        lose: Callable[[str], None],
        *,
        columns: Sequence[str] = COLUMNS,
        headers_only: bool = False,
    ) -> None:
        self._columns = columns
        self._headers_only = headers_only
        self._way = range_.way
        self._target = target
        self._domain = domain
        self._range = range_
        self._lose = lose
        self._next = range_.start
        self._bytes_asked = REQUEST_BYTES
        self._is_over = range_.start >= range_.end
        self._servers: tuple[str, ...] = ()
        """That have the stream, by name."""
        self._avoided: set[str] = set()
        """Of these, who did not bring what it was asked for."""
        self._asked: dict[bytes, int] = {}
        """Reply subject of each request that had no status to the messages that it asked for."""
        self._requests = 0
        self._to_come = 0
        """Messages that outstanding requests may still bring, all together: the server serves
        them in turns."""

    def read(self) -> Iterator[Rows]:
        """Yield the rows of the range.

        Raises:
            DataLossError: By `lose`.
            ConnectError: The servers were away for longer than `reconnect_timeout_s`.
            ApiError, LoginError: The server refuses.
        """
        lost_at_s: float | None = None
        while not self._is_over:
            try:
                for rows in self._session():
                    lost_at_s = None
                    yield rows
            except (ConnectionLostError, RequestTimeoutError, ApiError) as error:
                if isinstance(error, ApiError) and not _is_passing(error):
                    raise
                now_s = time.monotonic()
                lost_at_s = lost_at_s or now_s
                patience_s = self._target.reconnect_timeout_s
                if now_s - lost_at_s > patience_s:
                    raise ConnectError(
                        f"stream {self._range.stream!r} could not be read for {patience_s:g} s "
                        f"(option 'reconnectTimeout'): {error}"
                    ) from error
                time.sleep(RETRY_S)

    def _session(self) -> Iterator[Rows]:
        """Read as far as one connection and one consumer bring us."""
        target = self._target
        with (
            contextlib.closing(Connection(target, patience_s=target.reconnect_timeout_s)) as asking,
            contextlib.closing(Connection(target)) as bulk,
        ):
            api = JetStream(asking, self._domain)
            if not self._is_still_there(api):
                return
            if self._way == EXPORT:
                yield from self._export(api, bulk)
                return
            if self._way == DIRECT:
                yield from self._get(api, bulk)
                return
            made = api.create_consumer(
                self._range.stream,
                start_at(self._next),
                self._range.subjects,
                headers_only=self._headers_only,
            )
            try:
                yield from self._pull(api, bulk, made["name"])
            finally:
                with contextlib.suppress(ConnectionLostError, RequestTimeoutError, ApiError):
                    api.delete_consumer(self._range.stream, made["name"])

    # -- loss -------------------------------------------------------------------------------------

    def _is_still_there(self, api: JetStream) -> bool:
        """Compare the stream with the range; when there is nothing left to read, it is over."""
        try:
            state = api.stream(self._range.stream)
        except ApiError as error:
            if error.err_code != STREAM_NOT_FOUND:
                raise
            self._lose(f"stream {self._range.stream!r} was deleted")
            self._is_over = True
            return False
        if state.id != self._range.id:
            self._lose(
                f"stream {self._range.stream!r} was deleted and created anew ({state.id}); "
                f"the range is of the one of {self._range.id}"
            )
            self._is_over = True
            return False
        self._compare(state, state.first_seq, self._next)
        self._servers = state.servers
        return True

    def _compare(self, state: StreamState, first_seq: int, missing: int) -> None:
        """Report when the stream begins behind the first sequence that did not come."""
        if first_seq > missing and state.is_cut_by_limits:
            upto = min(first_seq, self._range.end) - 1
            self._lose(
                f"stream {self._range.stream!r}: messages {missing} to {upto} are gone: "
                f"it begins at {first_seq} now"
            )

    def _check_gap(self, api: JetStream, rows: Rows) -> None:
        """A hole is normal; a hole that the beginning of the stream has reached may be loss."""
        sequences = np.from_dlpack(rows.sequence)
        first = int(sequences[0])
        if first == self._next and int(sequences[-1]) - first + 1 == len(sequences):
            return
        missing = self._next
        if first == missing:
            missing = int(sequences[np.argmax(np.diff(sequences) > 1)]) + 1
        state = api.stream(self._range.stream)
        if state.id == self._range.id:
            self._compare(state, min(state.first_seq, int(sequences[-1])), missing)

    # -- pulling ----------------------------------------------------------------------------------

    def _pull(self, api: JetStream, bulk: Connection, consumer: str) -> Iterator[Rows]:
        sid = bulk.subscribe(f"{bulk.inbox}.rows.*")
        cutter = RowCutter(sid)
        self._asked.clear()
        self._to_come = 0
        subject = api.next_subject(self._range.stream, consumer)
        while not self._is_over:
            self._ask(bulk, subject)
            for each in cutter.feed(self._chunk(bulk)):
                if isinstance(each, Frame):
                    self._receive(api, bulk, each)
                elif (rows := self._take(api, each)) is not None:
                    yield rows

    def _export(self, api: JetStream, bulk: Connection) -> Iterator[Rows]:
        """Take the table that a server makes of the rest of the range."""
        server = self._sender(bulk)
        try:
            yield from self._exported(api, bulk, server)
        except (ConnectionLostError, RequestTimeoutError):
            self._avoided.add(server)
            raise

    def _sender(self, bulk: Connection) -> str:
        """Return the replica that is asked: if it can be, the server that we are connected to.

        Empty: who leads the stream, because there is no other, or none that did what it was asked.
        """
        replicas = [it for it in self._servers if it not in self._avoided]
        if len(self._servers) == 1 or not replicas:
            return ""
        here = bulk.info.get("server_name", "")
        return here if here in replicas else random.choice(replicas)

    def _exported(self, api: JetStream, bulk: Connection, server: str) -> Iterator[Rows]:
        request = {
            "seq": self._next,
            "up_to_seq": self._range.end - 1,
            "filter_subjects": list(self._range.subjects),
            "columns": wanted_columns(self._columns),
        }
        if server:
            request["server"] = server
        timeout_s = REPLICA_S if server else api.connection.timeout_s
        try:
            export = Export(api, bulk, self._range.stream, request, timeout_s)
        except ApiError:
            if server:
                self._avoided.add(server)
                return
            if not self._range.other_way:
                raise
            self._way = self._range.other_way
            return
        if export.created != self._range.id:
            raise ConnectionLostError("the stream was made anew")
        for each in export.rows():
            if (rows := self._take(api, each)) is not None:
                yield rows
        if not self._is_over:
            self._is_over = self._is_tail_empty(api)

    def _get(self, api: JetStream, bulk: Connection) -> Iterator[Rows]:
        """Get batches directly until the range is over."""
        bulk.subscribe(f"{bulk.inbox}.rows.*")
        subject = api.direct_subject(self._range.stream)
        filter_ = self._range.subjects[0] if self._range.subjects else ">"
        while not self._is_over:
            self._requests += 1
            reply = f"{bulk.inbox}.rows.{self._requests}"
            body = {
                "seq": self._next,
                "batch": min(self._range.end - self._next, DIRECT_MESSAGES_MAX),
                "max_bytes": REQUEST_BYTES,
                "next_by_subj": filter_,
            }
            bulk.send(pub(subject, json.dumps(body).encode(), reply))
            frames = self._batch(bulk)
            rows = self._take(api, rows_of(frames)) if frames else None
            if rows is not None:
                yield rows
            elif not self._is_over:
                self._is_over = self._is_tail_empty(api)

    def _batch(self, bulk: Connection) -> list[Frame]:
        """Return the messages of one answer."""
        found: list[Frame] = []
        while True:
            frame = bulk.next_message(self._target.request_timeout_s)
            if frame is None:
                raise ConnectionLostError("no answer to a direct get: has the stream allow_direct?")
            code = status(frame.headers)
            if not code:
                found.append(frame)
            elif code in {END_OF_BATCH, NOT_FOUND}:
                return found
            else:
                raise ConnectionLostError(f"direct get: {frame.headers[:80]!r}")

    def _ask(self, bulk: Connection, subject: str) -> None:
        """Ask for more before what was asked for has come."""
        while self._to_come <= REQUEST_MESSAGES_MAX // 2:
            left = self._range.end - self._next - self._to_come
            if left <= 0:
                return
            self._requests += 1
            reply = f"{bulk.inbox}.rows.{self._requests}"
            count = min(left, REQUEST_MESSAGES_MAX)
            body = {"batch": count, "no_wait": True, "max_bytes": self._bytes_asked}
            bulk.send(pub(subject, json.dumps(body).encode(), reply))
            self._asked[reply.encode()] = count
            self._to_come += count

    def _chunk(self, bulk: Connection) -> bytes:
        """Return what is there, as far as `CHUNK_BYTES`; wait when there is nothing."""
        data = bulk.receive(QUIET_S)
        if not data:
            bulk.send(b"PING\r\n")
            data = bulk.receive(self._target.request_timeout_s)
            if not data:
                raise ConnectionLostError("the server is silent")
        parts, total = [data], len(data)
        while total < CHUNK_BYTES and (data := bulk.receive(0)):
            parts.append(data)
            total += len(data)
        return b"".join(parts)

    def _take(self, api: JetStream, rows: Rows) -> Rows | None:
        """Return the rows that are of the range, and remember how far we are."""
        self._to_come = max(self._to_come - len(rows.sequence), 0)
        sequences = np.from_dlpack(rows.sequence)
        first = int(np.searchsorted(sequences, self._next))
        end = int(np.searchsorted(sequences, self._range.end))
        if end < len(sequences) or self._range.end - 1 == int(sequences[-1]):
            self._is_over = True
        rows = rows.cut(first, end)
        if not len(rows.sequence):
            return None
        self._check_gap(api, rows)
        self._next = int(rows.sequence[-1].as_py()) + 1
        return rows

    def _receive(self, api: JetStream, bulk: Connection, frame: Frame) -> None:
        """Take what is no row: a status ends the request that it answers."""
        if frame.verb != b"MSG":
            if frame.verb == b"PONG":
                self._check_consumer(api)
            bulk.answer(frame)
            return
        code = status(frame.headers)
        count = self._asked.pop(frame.subject, None)
        if count is None or not code:
            return
        unfilled = dict(header_pairs(frame.headers)).get("Nats-Pending-Messages", "")
        unfilled_count = int(unfilled) if unfilled.isdigit() else count
        self._to_come = max(self._to_come - unfilled_count, 0)
        if code == NOT_FOUND:
            self._is_over = not self._to_come and self._is_tail_empty(api)
        elif MESSAGE_TOO_LARGE in frame.headers:
            if unfilled_count == count:
                self._bytes_asked = min(self._bytes_asked * 2, REQUEST_BYTES_MAX)
        elif BATCH_COMPLETED not in frame.headers:
            raise ConnectionLostError(f"the consumer ended: {frame.headers[:80]!r}")

    def _check_consumer(self, api: JetStream) -> None:
        """After silence: is there still something to come?"""
        self._is_over = self._is_tail_empty(api)
        if not self._is_over:
            raise ConnectionLostError("the consumer brings nothing")

    def _is_tail_empty(self, api: JetStream) -> bool:
        """Ask the leader whether the rest of the range has messages that may come yet."""
        found = api.seq_of_next(self._range.stream, self._next, self._range.subjects)
        is_empty = found is None or found >= self._range.end
        if is_empty and self._is_still_there(api):
            return True
        if is_empty:
            return True
        time.sleep(RETRY_S)
        return False


def _is_passing(error: ApiError) -> bool:
    """Whether it may answer otherwise soon: no leader, starting, not enough resources.

    Of a stream that has gone, whoever asked first hears only that; the next session says what it
    means.
    """
    return error.code >= 500 or error.err_code == STREAM_NOT_FOUND  # noqa: PLR2004 - as HTTP has it


def refuse_loss(reason: str) -> None:
    """Raise: what `failOnDataLoss=true` means."""
    raise DataLossError(f"{reason}; set failOnDataLoss=false to go on without them")
