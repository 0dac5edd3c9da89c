"""What a streaming query does, as lines of JSON: rows, rate, and how far it is behind."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, TextIO

from pyspark.sql.streaming import StreamingQueryListener

from pyspark_nats.errors import NatsSourceError
from pyspark_nats.offsets import positions_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )


class JsonProgress(StreamingQueryListener):
    """Writes one line a batch; `session.streams.addListener(JsonProgress())`.

    Args:
        file: Where to; standard error by default.
    """

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Say nothing yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - as above
        """Write what a batch did."""
        self._write(line_of(json.loads(event.progress.json)))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - as above
        """Say nothing: no batch, no line."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - as above
        """Write that a query has ended, and why if it failed."""
        error = (event.exception or "").partition("\n")[0]
        self._write({"query": str(event.id), "ended": True, **({"error": error} if error else {})})

    def _write(self, line: Mapping[str, Any]) -> None:
        file = self._file or sys.stderr
        file.write(json.dumps(line) + "\n")
        file.flush()


def line_of(progress: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is worth a line in a batch's progress.

    Args:
        progress: Spark's, as JSON has it.

    Returns:
        `query`, `batch`, `rows`, `rows_per_s`, `took_ms`, and `streams`: name to `next` (the
        sequence that is read next) and `lag` (how many there were behind the batch).
    """
    streams: dict[str, dict[str, int]] = {}
    for source in progress.get("sources", ()):
        try:
            ends = positions_of(source["endOffset"])
            latest = positions_of(source.get("latestOffset") or source["endOffset"])
        except (KeyError, NatsSourceError):
            continue  # another kind of source
        for name, position in ends.items():
            behind = latest.get(name, position).next - position.next
            streams[name] = {"next": position.next, "lag": max(behind, 0)}
    return {
        "query": progress.get("name") or progress["id"],
        "batch": progress["batchId"],
        "rows": progress["numInputRows"],
        "rows_per_s": round(progress.get("processedRowsPerSecond") or 0),
        "took_ms": progress.get("batchDuration", 0),
        "streams": streams,
    }
