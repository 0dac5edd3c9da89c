"""Frames: what was recorded of a time, as one table in Arrow's format.

Rows are of three sorts: messages; answers, which have `latency_ns`; and what was dropped, of which
`dropped` is the number of messages, and nothing else is known.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from framework.spec import TextColumn, columns_of, filled_bits, gathered_numbers, gathered_texts
from framework.wire.arrow import END, Column, Type, batch_message, schema_message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

    from framework.spec import Batch, BatchColumns
    from framework_tap.clients import Clients
    from framework_tap.latencies import Answer, Latencies
    from framework_tap.redaction import Redaction

COLUMNS: Final = (
    ("timestamp", Type.TIMESTAMP_NS),
    ("server", Type.UTF8),
    ("account", Type.UTF8),
    ("subject", Type.UTF8),
    ("reply", Type.UTF8),
    ("headers", Type.BINARY),
    ("data", Type.BINARY),
    ("size", Type.INT32),
    ("cid", Type.INT64),
    ("client", Type.UTF8),
    ("user", Type.UTF8),
    ("host", Type.UTF8),
    ("request_subject", Type.UTF8),
    ("latency_ns", Type.INT64),
    ("dropped", Type.INT64),
)
SCHEMA: Final = schema_message(COLUMNS)


class Frame(NamedTuple):
    """A table, as bytes of Arrow's format for streams."""

    data: bytes
    rows: int
    dropped: int
    """Of the messages that it tells are missing."""


EMPTY: Final = Frame(b"", 0, 0)


class FrameMaker:
    """Makes frames of batches of one account.

    Args:
        server: Name of the server, for its column.
        account: Name of the account, for its column.
        clients: Who published.
        redaction: What must not be recorded.
        latencies: Of requests; None: they are not of interest.
    """

    def __init__(
        self,
        *,
        server: str,
        account: str,
        clients: Clients,
        redaction: Redaction,
        latencies: Latencies | None,
    ) -> None:
        self._server = server.encode()
        self._account = account.encode()
        self._clients = clients
        self._redaction = redaction
        self._latencies = latencies

    def make(
        self,
        batches: Sequence[Batch],
        answers: Sequence[Batch],
        dropped: int,
        epoch_ns: int,
        now_ns: int,
    ) -> Frame:
        """Return a frame; in a worker's thread, one call after the other.

        Args:
            batches: Of messages to record, in order.
            answers: Of messages that may answer requests.
            dropped: How many messages are missing since the frame before.
            epoch_ns: Nanoseconds since 1970 at which the monotonic clock began.
            now_ns: By the monotonic clock.
        """
        columns = columns_of(batches, epoch_ns)
        self._redaction.apply(columns.header, columns.payload)
        parts: list[Buffer] = [SCHEMA]
        rows = columns.rows
        if columns.rows:
            parts += batch_message(columns.rows, self._message_columns(columns))
        if self._latencies is not None:
            rows += self._append_answers(parts, self._latencies, columns, answers, epoch_ns)
        if dropped:
            parts += batch_message(1, self._dropped_columns(dropped, now_ns + epoch_ns))
        return Frame(b"".join([*parts, END]), rows, dropped)

    def _append_answers(
        self,
        parts: list[Buffer],
        latencies: Latencies,
        columns: BatchColumns,
        answers: Sequence[Batch],
        epoch_ns: int,
    ) -> int:
        """Append the rows of answers; return how many."""
        latencies.ask(columns)
        # Where a rule records inboxes itself, answers are among its messages.
        count = 0
        for each in (columns_of(answers, epoch_ns), columns):
            if found := latencies.answers(each):
                parts += batch_message(len(found), self._answer_columns(each, found))
                count += len(found)
        return count

    def _message_columns(self, columns: BatchColumns) -> list[Column]:
        count = columns.rows
        clients = self._clients.of(columns.links)
        index = columns.link_index
        nothing = bytes(4 * count)
        return [
            _whole(columns.arrived_ns),
            _text(gathered_texts(nothing, [self._server])),
            _text(gathered_texts(nothing, [self._account])),
            _text(_as_utf8(columns.subject)),
            _filled(_as_utf8(columns.reply)),
            _filled(columns.header),
            _text(columns.payload),
            _whole(columns.sizes),
            _whole(gathered_numbers(index, [it.cid for it in clients])),
            *(
                _filled(_as_utf8(gathered_texts(index, texts)))
                for texts in (
                    [it.name for it in clients],
                    [it.user for it in clients],
                    [it.host for it in clients],
                )
            ),
            _no_text(count),
            _no_number(count),
            _no_number(count),
        ]

    def _answer_columns(self, columns: BatchColumns, answers: Sequence[Answer]) -> list[Column]:
        """Return the rows of a few messages, picked one by one."""
        count = len(answers)
        rows = [it.row for it in answers]
        arrived = memoryview(columns.arrived_ns).cast("q")
        sizes = memoryview(columns.sizes).cast("i")
        index = memoryview(columns.link_index).cast("i")
        clients = self._clients.of([columns.links[index[row]] for row in rows])
        subjects = [_text_at(columns.subject, row) for row in rows]
        return [
            _whole(struct.pack(f"<{count}q", *(arrived[row] for row in rows))),
            _texts([self._server] * count),
            _texts([self._account] * count),
            _texts(subjects),
            _no_text(count),
            _no_text(count),
            _no_text(count),
            _whole(struct.pack(f"<{count}i", *(sizes[row] for row in rows))),
            _whole(struct.pack(f"<{count}q", *(it.cid for it in clients))),
            _texts([it.name for it in clients]),
            _texts([it.user for it in clients]),
            _texts([it.host for it in clients]),
            _texts([it.request_subject for it in answers]),
            _whole(struct.pack(f"<{count}q", *(it.latency_ns for it in answers))),
            _no_number(count),
        ]

    def _dropped_columns(self, dropped: int, now_ns: int) -> list[Column]:
        return [
            _whole(struct.pack("<q", now_ns)),
            _texts([self._server]),
            _texts([self._account]),
            *(_no_text(1) for _ in range(4)),
            _no_number(1, 4),
            _no_number(1),
            *(_no_text(1) for _ in range(4)),
            _no_number(1),
            _whole(struct.pack("<q", dropped)),
        ]


def _whole(data: Buffer) -> Column:
    return Column((b"", data))


def _text(column: TextColumn) -> Column:
    return Column((b"", column.offsets, column.chars))


def _filled(column: TextColumn) -> Column:
    """Return a column in which an empty text is null."""
    bits = filled_bits(column.offsets)
    nulls = len(column.offsets) // 4 - 1 - int.from_bytes(bits, "little").bit_count()
    return Column((bits if nulls else b"", column.offsets, column.chars), nulls)


def _texts(texts: Sequence[bytes]) -> Column:
    index = struct.pack(f"<{len(texts)}i", *range(len(texts)))
    return _filled(_as_utf8(gathered_texts(index, texts)))


def _no_text(count: int) -> Column:
    return Column((_no_bits(count), bytes(4 * count + 4), b""), count)


def _no_number(count: int, each_bytes: int = 8) -> Column:
    return Column((_no_bits(count), bytes(each_bytes * count)), count)


def _no_bits(count: int) -> bytes:
    return bytes((count + 7) // 8)


def _text_at(column: TextColumn, row: int) -> bytes:
    start, end = struct.unpack_from("<2i", column.offsets, 4 * row)
    return bytes(column.chars[start:end])


def _as_utf8(column: TextColumn) -> TextColumn:
    """Return texts that readers may take for UTF-8; subjects and names can be any bytes."""
    if column.chars.isascii():
        return column
    offsets = memoryview(column.offsets).cast("i")
    texts = [
        column.chars[offsets[at] : offsets[at + 1]].decode("utf-8", "replace").encode()
        for at in range(len(offsets) - 1)
    ]
    return gathered_texts(struct.pack(f"<{len(texts)}i", *range(len(texts))), texts)
