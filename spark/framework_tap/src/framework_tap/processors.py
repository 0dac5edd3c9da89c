"""Whether the machine has processors to spare, as far as it says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

SPARE: Final = 0.75
"""Processors that are idle, fewer of which are none: a publisher and its server that have two to
themselves leave half of one, and lose a third of their rate where a recorder takes that."""
LOOK_NS: Final = 100_000_000
_STAT: Final = Path("/proc/stat")
_IDLE, _IOWAIT, _USED_FIELDS = 3, 4, 8


class Processors:
    """Looks at what was idle lately, ten times a second at most.

    Args:
        read: Returns the times of all processors since the start, as Linux has them; empty: it is
            not known, and then there are always some to spare.

    Source: proc(5), `/proc/stat`.
    """

    def __init__(self, read: Callable[[], str] | None = None) -> None:
        self._read = read or _stat
        self._looked_ns: int | None = None
        self._idle = self._total = 0
        self._are_short = False

    def are_short(self, now_ns: int) -> bool:
        """Return whether all that there are have work.

        Args:
            now_ns: Of a clock that never goes back.
        """
        if self._looked_ns is None or now_ns - self._looked_ns >= LOOK_NS:
            self._looked_ns = now_ns
            self._look()
        return self._are_short

    def _look(self) -> None:
        lines = self._read().splitlines()
        times = [int(it) for it in lines[0].split()[1 : 1 + _USED_FIELDS]] if lines else []
        if len(times) < _USED_FIELDS:
            return
        count = sum(line.startswith("cpu") for line in lines) - 1
        idle, total = times[_IDLE] + times[_IOWAIT], sum(times)
        spent, before = total - self._total, self._total
        if before and spent > 0:
            self._are_short = count * (idle - self._idle) / spent < SPARE
        if not before or spent > 0:
            self._idle, self._total = idle, total


def _stat() -> str:
    try:
        return _STAT.read_text("ascii")
    except OSError:
        return ""
