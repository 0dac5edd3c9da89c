"""Messages got directly, by batches: from a store, without a consumer (ADR-31).

That costs the server more than a consumer and the wire half as much again, and it is the only way
to read a work queue, whose messages go when a consumer takes them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from pyspark_nats.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark_nats.frames import Frame

_OWN = re.compile(
    rb"\r\nNats-(Stream|Subject|Sequence|Time-Stamp|Num-Pending|Last-Sequence): ([^\r]*)"
)
"""Headers that the server adds behind those of the message."""
_NO_HEADERS = b"NATS/1.0\r\n\r\n"
END_OF_BATCH = 204


def rows_of(frames: Sequence[Frame]) -> Rows:
    """Return the messages of answers, in order.

    Args:
        frames: Each with the headers that name its place in the stream.
    """
    own = [dict(_OWN.findall(frame.headers)) for frame in frames]
    heads = [_OWN.sub(b"", frame.headers) for frame in frames]
    headers = [None if head == _NO_HEADERS else head for head in heads]
    stamps = pa.array([each[b"Time-Stamp"] for each in own], pa.string())
    return Rows(
        pa.array([each[b"Subject"] for each in own], pa.binary()),
        pa.array([int(each[b"Sequence"]) for each in own], pa.int64()),
        stamps.cast(pa.timestamp("ns", "UTC")).cast(pa.int64()),
        pa.array([frame.payload for frame in frames], pa.binary()),
        pa.array(headers, pa.binary()) if any(headers) else None,
    )
