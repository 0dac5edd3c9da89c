"""Frames into Parquet files, with a manifest: a segment is whole, or it is not there."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from framework_tap.config import TapRule
    from framework_tap.frames import Frame

MANIFEST = "manifest.jsonl"
"""A line a segment: `file`, `rows`, `bytes`, `dropped`, `begun_ns` and `ended_ns` since 1970."""
SECOND_NS = 1_000_000_000


class Segments:
    """Writes segments of one rule in one account; all of it in worker threads, one at a time.

    Args:
        folder: Made when the first segment is.
        config: Of the rule.
        prefix: What names of segments begin with; no other writer of the folder has it.
    """

    def __init__(self, folder: Path, config: TapRule, prefix: str) -> None:
        self._folder = folder
        self._config = config
        self._prefix = prefix
        self._writer: Any = None
        self._path = folder
        self._line: dict[str, Any] = {}
        self.rows = 0
        """In segments that are whole."""
        self._lost = (0, 0)

    def write(self, frame: Frame, now_ns: int) -> None:
        """Append a frame, and end the segment when it is long or old enough.

        Args:
            frame: What was recorded.
            now_ns: Nanoseconds since 1970.

        Raises:
            OSError: The rows are not written, nor is what the segment had before.
            ImportError: There is no pyarrow.
        """
        if self._writer is None:
            self._line = {"rows": 0, "dropped": 0, "begun_ns": now_ns}
        self._line["rows"] += frame.rows
        self._line["dropped"] += frame.dropped
        try:
            self._append(frame, now_ns)
            self.end_if_due(now_ns)
        except (OSError, ImportError):
            self._give_up()
            raise

    def _append(self, frame: Frame, now_ns: int) -> None:
        import pyarrow as pa  # noqa: PLC0415 - for who writes Parquet
        from pyarrow import ipc  # noqa: PLC0415 - as above

        table = ipc.open_stream(pa.py_buffer(frame.data)).read_all()
        if self._writer is None:
            self._begin(table.schema, now_ns)
        self._writer.write_table(table)

    def take_lost(self) -> tuple[int, int]:
        """Return the rows of segments that could not be written since the last call.

        Returns:
            Rows, and the messages that these segments told were missing.
        """
        lost, self._lost = self._lost, (0, 0)
        return lost

    def end_if_due(self, now_ns: int) -> None:
        """End a segment that is long or old enough."""
        if self._writer is None:
            return
        age_ns = now_ns - self._line["begun_ns"]
        is_old = age_ns >= self._config.segment_age * SECOND_NS
        if is_old or self._path.stat().st_size >= self._config.segment_bytes:
            self.end(now_ns)

    def left_s(self, now_ns: int) -> float | None:
        """Return in how many seconds the segment is old enough to end; None: there is none."""
        if self._writer is None:
            return None
        begun_ns: int = self._line["begun_ns"]
        return self._config.segment_age - (now_ns - begun_ns) / SECOND_NS

    def end(self, now_ns: int) -> None:
        """End the segment, if there is one: on disk, under its name, in the manifest."""
        if self._writer is None:
            return
        try:
            self._writer.close()
            self._writer = None
            _sync(self._path)
            final = self._path.with_suffix("")
            self._line |= {
                "file": final.name,
                "bytes": self._path.stat().st_size,
                "ended_ns": now_ns,
            }
            self._path.rename(final)
            with (self._folder / MANIFEST).open("a", encoding="utf-8") as manifest:
                manifest.write(json.dumps(self._line) + "\n")
                manifest.flush()
                os.fsync(manifest.fileno())
            _sync(self._folder)
        except OSError:
            self._give_up()
            raise
        self.rows += self._line["rows"]
        self._line = {}

    def _begin(self, schema: Any, now_ns: int) -> None:
        from pyarrow import parquet  # noqa: PLC0415 - as above

        self._folder.mkdir(parents=True, exist_ok=True)
        # Readers of the folder pass over what does not end in `.parquet`.
        self._path = self._folder / f"{self._prefix}-{now_ns}.parquet.tmp"
        dictionaries = ["server", "account", "subject", "client", "user", "host", "request_subject"]
        self._writer = parquet.ParquetWriter(
            self._path, schema, compression="zstd", use_dictionary=dictionaries
        )

    def _give_up(self) -> None:
        """Leave nothing of a segment that can't be written, and count what is lost with it."""
        rows, dropped = self._lost
        line, self._line = self._line, {}
        if line:
            self._lost = (rows + line["rows"], dropped + line["dropped"])
        writer, self._writer = self._writer, None
        try:
            if writer is not None:
                writer.close()
        except OSError:
            pass  # the disk is full, as it was before
        finally:
            self._path.unlink(missing_ok=True) if self._path != self._folder else None


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
