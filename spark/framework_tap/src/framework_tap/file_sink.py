"""Frames into Parquet segments, by a worker's thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework_tap.segments import Segments

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from framework_tap.config import TapRule
    from framework_tap.frames import Frame


class FileSink:
    """The segments of one rule in one account.

    Args:
        folder: Where they are.
        config: The rule.
        prefix: What their names begin with.
    """

    is_written_idle = True

    def __init__(self, folder: Path, config: TapRule, prefix: str) -> None:
        self.problem = ""
        """Why rows are not stored; empty: they are."""
        self.rows = 0
        self.lost = 0
        """Rows that were recorded and not stored."""
        self._folder = folder
        self._segments = Segments(folder, config, prefix)
        self._lost_untold = 0
        self._left_s: float | None = None
        """When a frame was written last: until the segment is old enough; None: there is none."""

    @property
    def place(self) -> str:
        """Return where rows go, for people."""
        return f"folder {self._folder}"

    @property
    def has_room(self) -> bool:
        """Return True: while a worker writes, no other frame is made."""
        return True

    def open(self, look: Callable[[], None]) -> None:
        """Do nothing: all that is due is due at a time."""

    def write(self, frame: Frame, now_ns: int) -> None:
        """Write a frame; in a worker's thread.

        Args:
            frame: What was recorded; none of it, when a segment is only to be ended in time.
            now_ns: Nanoseconds since 1970.
        """
        try:
            if frame.rows or frame.dropped:
                self._segments.write(frame, now_ns)
            else:
                self._segments.end_if_due(now_ns)
            self.problem = ""
        except (OSError, ImportError) as error:
            self._lose(error)
        self.rows = self._segments.rows
        self._left_s = self._segments.left_s(now_ns)

    def store(self, frame: Frame, now_ns: int) -> None:
        """Do nothing: it is written."""

    def tick(self, now_ns: int) -> None:
        """Do nothing: what is due is found when a frame is written, were it empty."""

    def wait_s(self, now_ns: int) -> float | None:  # noqa: ARG002 - of the sink's protocol
        """Return in how many seconds the segment ends, as it was when a frame was written last."""
        return self._left_s

    def receive(self, token: str, payload: bytes) -> None:
        """Do nothing: nobody answers."""

    def take_lost(self) -> int:
        """Return the messages that were lost on their way since the last call."""
        lost, self._lost_untold = self._lost_untold, 0
        return lost

    def close(self, now_ns: int) -> None:
        """End the segment."""
        try:
            self._segments.end(now_ns)
        except OSError as error:
            self._lose(error)

    def _lose(self, error: Exception) -> None:
        rows, dropped = self._segments.take_lost()
        self.problem = str(error)
        self.lost += rows
        self._lost_untold += rows + dropped
