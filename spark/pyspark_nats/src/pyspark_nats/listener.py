"""What a streaming query does, as lines of JSON: rows, rate, and how far it is behind."""

from __future__ import annotations

import json
import shutil
import sys
import threading
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


class RowCounter(StreamingQueryListener):
    """Adds up what all queries of a session do."""

    def __init__(self) -> None:
        self._lines: dict[str, dict[str, Any]] = {}
        self._rows = 0
        self._lock = threading.Lock()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Count a query."""
        with self._lock:
            self._lines[str(event.id)] = {}

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - as above
        """Add the rows of a batch."""
        line = line_of(json.loads(event.progress.json))
        with self._lock:
            self._rows += line["rows"]
            self._lines[str(event.progress.id)] = line

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - as above
        """Count nothing."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - as above
        """Forget a query."""
        with self._lock:
            self._lines.pop(str(event.id), None)

    def totals(self) -> dict[str, int | None]:
        """Return `queries` that run, `rows` so far, and the `lag` of all streams together.

        A lag is None before each query has had a batch. Callable from any thread.
        """
        with self._lock:
            lines = list(self._lines.values())
            streams = [line.get("streams", {}) for line in lines]
            lag = sum(it["lag"] for each in streams for it in each.values()) if all(lines) else None
            return {"queries": len(lines), "rows": self._rows, "lag": lag}


class BarProgress(StreamingQueryListener):
    """Shows the last batch of each query in one line of a terminal.

    Args:
        file: A terminal.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._shown: dict[str, str] = {}

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - as above
        """Show nothing yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - as above
        """Show a batch in place of the one before."""
        line = line_of(json.loads(event.progress.json))
        self._shown[str(event.progress.id)] = bar_of(line)
        self._show()

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - as above
        """Leave what is shown."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - as above
        """Leave the last batch of the query on the screen."""
        if self._shown.pop(str(event.id), None):
            self._file.write("\n")

    def _show(self) -> None:
        width = shutil.get_terminal_size().columns - 1
        self._file.write("\r" + " | ".join(self._shown.values())[:width].ljust(width))
        self._file.flush()


BAR_CELLS = 10


def bar_of(line: Mapping[str, Any]) -> str:
    """Return a batch as a bar: how much of what there was to read was read."""
    lag = sum(it["lag"] for it in line["streams"].values())
    rows = line["rows"]
    full = BAR_CELLS if not lag else BAR_CELLS * rows // max(rows + lag, 1)
    bar = "#" * full + "-" * (BAR_CELLS - full)
    rate = f"{rows:,} rows, {line['rows_per_s']:,}/s, lag {lag:,}"
    return f"{str(line['query'])[:12]} {line['batch']} [{bar}] {rate}"
