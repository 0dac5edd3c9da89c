"""Rate limit of repeated log lines, so that a peer cannot fill the log."""

from __future__ import annotations

from typing import Final

LINES_MAX: Final = 100
"""Lines of one event and window; an operator reads no more, and 10,000 bad connections a
second would otherwise write 1 MB/s."""

WINDOW_NS: Final = 1_000_000_000

EVENTS_MAX: Final = 1_000
"""Events are fixed texts, so this is never reached unless a plugin puts data into them."""


class RepeatLimiter:
    """Count lines of an event within one second."""

    def __init__(self) -> None:
        self._windows: dict[str, tuple[int, int]] = {}

    def admit(self, event: str, now_ns: int) -> int:
        """Return -1 when the line is one too many, else how many were held back before it."""
        began_ns, count = self._windows.get(event, (now_ns, 0))
        held_back = 0
        if not 0 <= now_ns - began_ns < WINDOW_NS:
            held_back = max(count - LINES_MAX, 0)
            began_ns, count = now_ns, 0
        if len(self._windows) >= EVENTS_MAX and event not in self._windows:
            self._windows.clear()
        self._windows[event] = (began_ns, count + 1)
        return held_back if count < LINES_MAX else -1
