"""Tables that a server makes of a stream, for servers that have exports: batches of Arrow, no rows.

What is asked for and what comes is described where the server makes it: `exports/` of
framework-jetstream. Each message but the last is one message of Arrow's format for streams, the
first of them the schema; the last one has a status, and says what was sent.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyarrow import ipc

from pyspark_nats.errors import ConnectionLostError
from pyspark_nats.frames import extent_at, frame_at, pub, status
from pyspark_nats.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from pyspark_nats.connection import Connection
    from pyspark_nats.jetstream import JetStream

CONTROL_BYTES = 4096
"""Received at once where a control line is to come."""
END_OF_EXPORT = 204
QUIET_S = 1.0
"""Silence after which it is asked whether who exports is still there."""
SILENT_S = 60.0
"""For who is there, and brings nothing: few messages may match, or many may export."""
_OF_COLUMNS = {"timestamp_ns": "timestamp"}
"""Columns of a read that come by another name; `stream` is known."""


def wanted_columns(columns: Sequence[str]) -> list[str]:
    """Return what is asked of the server for columns of a read; sequences always."""
    found = dict.fromkeys(["sequence", *(_OF_COLUMNS.get(it, it) for it in columns)])
    found.pop("stream", None)
    return list(found)


class Piece(NamedTuple):
    """A message of an export."""

    headers: bytes
    payload: pa.Buffer


class Pieces:
    """Receives the messages of one subscription; their payloads are where they were received.

    Args:
        connection: Nothing else is subscribed to on it but answers.
        sid: Of the subscription.
        timeout_s: For a server that is silent, and asked whether it is there.
        probe: Called in silence: asks who sends them, so that it is heard if nobody is there.
    """

    def __init__(
        self,
        connection: Connection,
        sid: int,
        timeout_s: float,
        probe: Callable[[], object] = lambda: None,
    ) -> None:
        self._connection = connection
        self._sid = sid
        self._timeout_s = timeout_s
        self._probe = probe
        self._rest = b""
        self._heard_s = time.monotonic()
        """When a message came last."""

    def next(self) -> Piece:
        """Return the next one.

        Raises:
            ConnectionLostError: The connection has ended, or the server is silent.
        """
        while True:
            extent = extent_at(self._rest, 0)
            if extent is None:
                cut = frame_at(self._rest, 0) if self._rest else None
                if cut is None:
                    self._rest += self._received()
                    continue
                frame, at = cut
                self._rest = self._rest[at:]
                if frame.verb == b"PONG" and time.monotonic() - self._heard_s > SILENT_S:
                    raise ConnectionLostError("the export brings nothing")
                self._connection.answer(frame)
                continue
            sid, start, head, total = extent
            body = self._body(start, total)
            self._heard_s = time.monotonic()
            if sid == self._sid:
                return Piece(bytes(body[:head]), body.slice(head))

    def _received(self) -> bytes:
        data = self._connection.receive(QUIET_S, CONTROL_BYTES)
        if not data:
            self._probe()
            self._connection.send(b"PING\r\n")
            data = self._connection.receive(self._timeout_s, CONTROL_BYTES)
        if not data:
            raise ConnectionLostError("the server is silent")
        return data

    def _body(self, start: int, total: int) -> pa.Buffer:
        """Return the bytes of a message, aligned as Arrow wants them."""
        room = pa.allocate_buffer(total)
        view = memoryview(room).cast("B")
        there = min(len(self._rest) - start, total)
        view[:there] = self._rest[start : start + there]
        self._rest = self._rest[start + there :]
        while there < total:
            there += self._connection.receive_into(view[there:], self._timeout_s)
        while len(self._rest) < len(b"\r\n"):
            self._rest += self._received()
        self._rest = self._rest[2:]
        return room


class Export:
    """One export of a stream, as far as its connection brings it.

    Args:
        api: Asks for it, on a connection of its own.
        bulk: Where it comes.
        stream: Name of the stream.
        request: First and last sequence, filters, columns, and maybe the server that sends it.
        timeout_s: For the answer.
    """

    def __init__(
        self,
        api: JetStream,
        bulk: Connection,
        stream: str,
        request: dict[str, Any],
        timeout_s: float,
    ) -> None:
        self._bulk = bulk
        self._stream = stream
        self._reply = f"{bulk.inbox}.rows.export"
        self._pieces = Pieces(
            bulk,
            bulk.subscribe(self._reply),
            api.connection.timeout_s,
            lambda: self._ask(1),
        )
        begun = api.begin_export(stream, request, timeout_s)
        self.created = begun["created"]
        """Of the stream: which one it is."""
        self._subject = api.next_subject(stream, begun["id"]) if begun["id"] else ""
        self._window = begun["window"]

    def rows(self) -> Iterator[Rows]:
        """Yield rows in order; all of them, if it comes to its end.

        Raises:
            ConnectionLostError: The connection, or the export, has ended before.
        """
        if not self._subject:
            return
        self._ask(self._window)
        schema: pa.Schema | None = None
        taken = 0
        while True:
            piece = self._pieces.next()
            if code := status(piece.headers):
                if code != END_OF_EXPORT:
                    raise ConnectionLostError(f"the export ended: {piece.headers[:80]!r}")
                return
            if schema is None:
                schema = ipc.read_schema(piece.payload)
                continue
            taken += 1
            if 2 * taken >= self._window:
                self._ask(taken)
                taken = 0
            yield rows_of(batch_of(piece.payload, schema))

    def _ask(self, count: int) -> None:
        body = json.dumps({"batch": count}).encode()
        self._bulk.send(pub(self._subject, body, self._reply))


def batch_of(payload: pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch whose offsets and texts are what they have to be: others read it unseen.

    Raises:
        ConnectionLostError: They are not.
    """
    try:
        batch = ipc.read_record_batch(payload, schema)
        batch.validate(full=True)
    except (pa.ArrowInvalid, OSError) as error:
        raise ConnectionLostError(f"the export makes no sense: {error}") from error
    return batch


def rows_of(batch: pa.RecordBatch) -> Rows:
    """Return a batch of an export; columns that it has not are null."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    nothing = None if {"subject", "data"} <= columns.keys() else pa.nulls(len(batch), pa.binary())
    no_time = None if "timestamp" in columns else pa.nulls(len(batch), pa.int64())
    return Rows(
        columns.get("subject", nothing),
        columns["sequence"],
        columns["timestamp"].view(pa.int64()) if no_time is None else no_time,
        columns.get("data", nothing),
        columns.get("headers"),
        columns.get("size"),
    )
