"""Bytes of bulk delivery to columns, many messages at a time.

Delivery to one subscription of a pull consumer is, for messages without headers,

    MSG <subject> <sid> $JS.ACK.<...>.<sequence>.<consumer sequence>.<nanoseconds>.<pending> <bytes>
    <payload>

over and over. Arrow's kernels cut a megabyte of that at its line ends, spaces and dots without one
Python object a message. Whatever does not look so to the byte (headers, a line end in a payload,
a status) is cut frame by frame instead, to the same columns: a payload is believed to be one only
when it is as long as its line says, from the first message on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_nats.frames import Frame, frame_at

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKENS = 5
"""Of a control line: verb, subject, sid, reply, size."""
ACK_TOKENS = 9
"""Of a reply `$JS.ACK.<stream>.<consumer>.<delivered>.<sequence>.<...>` (ADR-15)."""
ACK_TOKENS_OF_DOMAIN = (11, 12)
"""With domain and account after `ACK`, and maybe a last token that means nothing."""
WINDOW_BYTES_MAX = 4 << 20
WINDOW_BYTES = 64 << 10
SINGLY_MAX = 4096


class Rows(NamedTuple):
    """Messages of one stream in order of their sequence; all columns have one length."""

    subject: pa.Array
    """string, or binary: a subject is text, but nobody has checked that yet."""
    sequence: pa.Array
    """int64"""
    timestamp_ns: pa.Array
    """int64, since 1970 UTC"""
    data: pa.Array
    """binary"""
    headers: pa.Array | None
    """binary, as on the wire, null for messages without; None when no message has any."""
    size: pa.Array | None = None
    """int32, bytes of the payload; None: as long as `data` is."""

    def cut(self, first: int, end: int) -> Rows:
        """Return the rows from index `first` to before `end`, both from 0."""
        return Rows(*(None if it is None else it[first:end] for it in self))


def empty_rows() -> Rows:
    """Return no rows."""
    whole, text = pa.array([], pa.int64()), pa.array([], pa.binary())
    return Rows(text, whole, whole, text, None)


class RowCutter:
    """Cuts the bytes of one connection whose only bulk subscription is `sid`.

    Args:
        sid: Messages that come with it and with a reply of an acknowledgement are rows.
    """

    def __init__(self, sid: int) -> None:
        self._sid = sid
        self._rest = b""
        self._window_bytes = WINDOW_BYTES_MAX
        """Cut at once. Small after something that is no plain message, in case that goes on."""
        self._singly = 1
        """Frames cut one by one before columns are tried again."""

    def feed(self, data: bytes) -> Iterator[Rows | Frame]:
        """Yield rows, and whatever else came, in order of arrival.

        Raises:
            ConnectionLostError: This is not what a NATS server sends.
        """
        data = self._rest + data if self._rest else data
        buffer = pa.py_buffer(data)
        at = 0
        try:
            while at < len(data):
                window = buffer.slice(at, min(self._window_bytes, len(data) - at))
                rows, taken, is_whole = _bulk(window, self._sid)
                at += taken
                if rows is not None:
                    yield rows
                if is_whole and taken:
                    self._singly = 1
                    self._window_bytes = min(4 * self._window_bytes, WINDOW_BYTES_MAX)
                    continue
                before = at
                for each, after in self._one_by_one(data, at):
                    at = after
                    yield each
                if at == before:
                    return
                self._window_bytes = WINDOW_BYTES
                is_rare = rows is not None and len(rows.sequence) > self._singly
                self._singly = 1 if is_rare else min(2 * self._singly, SINGLY_MAX)
        finally:
            self._rest = data[at:]

    def _one_by_one(self, data: bytes, at: int) -> Iterator[tuple[Rows | Frame, int]]:
        """Yield what the next frames are, and where each ends."""
        found: list[Frame] = []
        left = self._singly
        while left and (cut := frame_at(data, at)) is not None:
            frame, after = cut
            if frame.sid == self._sid and frame.reply.startswith(b"$JS.ACK."):
                found.append(frame)
            else:
                if found:
                    yield _rows_of(found), at
                    found = []
                yield frame, after
            at = after
            left -= 1
        if found:
            yield _rows_of(found), at


def _bulk(window: pa.Buffer, sid: int) -> tuple[Rows | None, int, bool]:
    """Cut the plain messages with which a window begins.

    Returns:
        The rows if there are any; bytes that they take; whether an unfinished message at most
        is left.
    """
    lines = _split(_as_array(window), b"\r\n").values
    count = whole = (len(lines) - 1) // 2
    if not count:
        return None, 0, True
    controls = lines.take(pa.array(np.arange(count, dtype=np.int64) * 2))
    words = _split(controls, b" ")
    count = _leading(np.diff(words.offsets.to_numpy()) == TOKENS)
    verb, sids = (_column(words, count, TOKENS, at) for at in (0, 2))
    count = _leading(_equal(verb, b"MSG") & _equal(sids, b"%d" % sid))
    subject, reply, sizes = (_column(words, count, TOKENS, at) for at in (1, 3, 4))
    payloads = lines.take(pa.array(np.arange(count, dtype=np.int64) * 2 + 1))
    try:
        said = _whole(sizes).to_numpy()
    except pa.ArrowInvalid:
        return None, 0, False
    lengths = pc.binary_length(payloads).to_numpy()
    tokens = _split(reply, b".")
    widths = np.diff(tokens.offsets.to_numpy())
    width = int(widths[0]) if count else 0
    count = _leading((said == lengths) & (widths == width))
    if not count or width not in {ACK_TOKENS, *ACK_TOKENS_OF_DOMAIN}:
        return None, 0, False
    at = 5 if width == ACK_TOKENS else 7
    sequence, stamp = (_whole(_column(tokens, count, width, it)) for it in (at, at + 2))
    taken = pc.sum(pc.binary_length(controls[:count])).as_py() + int(lengths[:count].sum())
    rows = Rows(subject[:count], sequence, stamp, payloads[:count], None)
    return rows, taken + 4 * count, count == whole


def _as_array(window: pa.Buffer) -> pa.Array:
    offsets = pa.py_buffer(np.array([0, window.size], dtype=np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, offsets, window])


def _leading(mask: np.ndarray) -> int:
    """Return how many are true before the first that is not."""
    return len(mask) if mask.all() else int(mask.argmin())


def _equal(column: pa.Array, value: bytes) -> np.ndarray:
    return pc.equal(column, value).to_numpy(zero_copy_only=False)


def _column(lists: pa.ListArray, count: int, width: int, at: int) -> pa.Array:
    """Return the token `at` of the first `count` rows, which have `width` each."""
    return lists.values.take(pa.array(np.arange(count, dtype=np.int64) * width + at))


def _split(column: pa.Array, separator: bytes) -> pa.ListArray:
    return pc.split_pattern(column, separator)


def _whole(column: pa.Array) -> pa.Array:
    return column.cast(pa.string()).cast(pa.int64())


def _rows_of(frames: list[Frame]) -> Rows:
    stamps = [_position(frame.reply) for frame in frames]
    headers = [frame.headers or None for frame in frames]
    return Rows(
        pa.array([frame.subject for frame in frames], pa.binary()),
        pa.array([sequence for sequence, _ in stamps], pa.int64()),
        pa.array([nanoseconds for _, nanoseconds in stamps], pa.int64()),
        pa.array([frame.payload for frame in frames], pa.binary()),
        pa.array(headers, pa.binary()) if any(headers) else None,
    )


def _position(reply: bytes) -> tuple[int, int]:
    """Return sequence and nanoseconds that a reply of an acknowledgement tells."""
    tokens = reply.split(b".")
    at = 5 if len(tokens) == ACK_TOKENS else 7
    return int(tokens[at]), int(tokens[at + 2])
