"""How far a query is, in a bucket where every tool of NATS sees it.

One key a query and stream: `<progress option>.<stream>`, JSON of `next` (the sequence that is read
next), `end` (what the next message of the stream got when the batch was planned) and `lag`.
"""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark_nats.jetstream import JetStream

BUCKET = "SPARK_PROGRESS"


class Progress:
    """Publishes under one key; a failure ends it, and is said once.

    Args:
        key: Of the query.
        domain: Of JetStream.
    """

    def __init__(self, key: str, domain: str) -> None:
        self._key = key
        self._domain = domain
        self._is_ready = False
        self._is_off = False

    def publish(
        self, api: JetStream, positions: Mapping[str, int], ends: Mapping[str, int]
    ) -> None:
        """Put the positions into the bucket, which is made if it is not there."""
        if self._is_off:
            return
        if not self._is_ready:
            api.create_stream(bucket_config(BUCKET))
            self._is_ready = True
        for stream, position in positions.items():
            end = max(ends.get(stream, position), position)
            value = {"next": position, "end": end, "lag": end - position}
            subject = f"$KV.{BUCKET}.{self._key}.{stream}"
            api.connection.request_raw(subject, json.dumps(value).encode())

    def without(self, error: Exception) -> Progress:
        """Return the same, publishing nothing more."""
        if not self._is_off:
            warnings.warn(f"nats: progress is not published: {error}", stacklevel=2)
        self._is_off = True
        return self


def bucket_config(bucket: str) -> dict[str, object]:
    """Return the stream of a KV bucket with one value a key (ADR-8)."""
    return {
        "name": f"KV_{bucket}",
        "subjects": [f"$KV.{bucket}.>"],
        "max_msgs_per_subject": 1,
        "allow_rollup_hdrs": True,
        "deny_delete": True,
        "allow_direct": True,
        "discard": "new",
    }
