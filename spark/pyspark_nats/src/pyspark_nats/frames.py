r"""The client protocol as bytes: what a server sends, and what is sent to it. No I/O here.

Grammar of what is read (nats-server `parser.go`, ADR-4 for headers):

    MSG <subject> <sid> [reply] <bytes>\r\n<payload>\r\n
    HMSG <subject> <sid> [reply] <header bytes> <total bytes>\r\n<headers><payload>\r\n
    INFO <json>\r\n | PING\r\n | PONG\r\n | +OK\r\n | -ERR <text>\r\n
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pyspark_nats.errors import ConnectionLostError

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTROL_LINE_BYTES_MAX = 64 << 10
"""A longer line is no line of this protocol; INFO of a large cluster is the longest."""

# The system account of nats-server leaves two spaces where there is no reply subject.
_MSG = re.compile(rb"MSG ([^ \r]+) ([0-9]+) +(?:([^ \r]+) )?([0-9]+)\r\n")
_HMSG = re.compile(rb"HMSG ([^ \r]+) ([0-9]+) +(?:([^ \r]+) )?([0-9]+) ([0-9]+)\r\n")


class Frame(NamedTuple):
    """One thing that a server sent."""

    verb: bytes
    """`MSG` (with headers or without), `INFO`, `PING`, `PONG`, `+OK` or `-ERR`."""
    text: bytes = b""
    """What follows the verb, of all but `MSG`."""
    subject: bytes = b""
    sid: int = 0
    reply: bytes = b""
    headers: bytes = b""
    """From `NATS/1.0` to the empty line; empty when there are none."""
    payload: bytes = b""


class Frames:
    """Cuts what comes from a server into frames."""

    def __init__(self) -> None:
        self._rest = b""

    @property
    def rest(self) -> bytes:
        """What is not complete yet."""
        return self._rest

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield what is complete; the rest is kept for the next call.

        Raises:
            ConnectionLostError: This is not what a NATS server sends.
        """
        self._rest += data
        at = 0
        try:
            while (cut := frame_at(self._rest, at)) is not None:
                frame, at = cut
                yield frame
        finally:
            self._rest = self._rest[at:]


def extent_at(data: bytes, at: int) -> tuple[int, int, int, int] | None:
    """Return what the control line of a message at `at` says, if it is there.

    Returns:
        `sid`, where headers and payload begin, bytes of the headers, bytes of both.
    """
    if (line := _MSG.match(data, at)) is not None:
        return int(line[2]), line.end(), 0, int(line[4])
    if (line := _HMSG.match(data, at)) is not None:
        return int(line[2]), line.end(), int(line[4]), int(line[5])
    return None


def frame_at(data: bytes, at: int) -> tuple[Frame, int] | None:
    """Return the frame that begins at `at` and where the next begins; None while it is incomplete.

    Raises:
        ConnectionLostError: No frame begins so.
    """
    end = data.find(b"\r\n", at)
    if end < 0:
        if len(data) - at > CONTROL_LINE_BYTES_MAX:
            raise ConnectionLostError("the server sends lines without end")
        return None
    if (line := _MSG.match(data, at)) is not None:
        subject, sid, reply, size = line.groups()
        head, total = 0, int(size)
    elif (line := _HMSG.match(data, at)) is not None:
        subject, sid, reply, size, whole = line.groups()
        head, total = int(size), int(whole)
    else:
        return _control(data[at:end]), end + 2
    start = line.end()
    if len(data) < start + total + 2:
        return None
    body = data[start : start + total]
    frame = Frame(b"MSG", b"", subject, int(sid), reply or b"", body[:head], body[head:])
    return frame, start + total + 2


def _control(line: bytes) -> Frame:
    verb, _, text = line.partition(b" ")
    if verb.upper() not in {b"INFO", b"PING", b"PONG", b"+OK", b"-ERR"}:
        raise ConnectionLostError(f"not of a NATS server: {line[:40]!r}")
    return Frame(verb.upper(), text.strip())


def status(headers: bytes) -> int:
    """Return the status of a message that is not of a stream; 0 when it has none."""
    found = re.match(rb"NATS/1\.0 ([0-9]{3})", headers)
    return int(found[1]) if found else 0


def header_pairs(headers: bytes) -> list[tuple[str, str]]:
    """Return name and value of each header, in order; what is no text is replaced."""
    pairs = []
    for line in headers.split(b"\r\n")[1:]:
        name, colon, value = line.partition(b":")
        if colon:
            pairs.append((
                name.decode("utf-8", "replace"),
                value.strip().decode("utf-8", "replace"),
            ))
    return pairs


def pub(subject: str, payload: bytes, reply: str = "") -> bytes:
    """Return the bytes that publish a message without headers."""
    words = f"PUB {subject} {reply} " if reply else f"PUB {subject} "
    return b"%b%d\r\n%b\r\n" % (words.encode(), len(payload), payload)
