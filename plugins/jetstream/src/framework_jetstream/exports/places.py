"""How many exports and snapshots may run at once."""

from __future__ import annotations

from typing import Final

EXPORTS_MAX: Final = 64
"""Of a server, snapshots among them. Each has some in the making, and a window on its way."""


class Places:
    """Counts the exports and the snapshots of a server."""

    def __init__(self) -> None:
        self._taken = 0

    @property
    def taken(self) -> int:
        """Return how many there are."""
        return self._taken

    def take(self) -> bool:
        """Take a place; False: there is none."""
        if self._taken == EXPORTS_MAX:
            return False
        self._taken += 1
        return True

    def give_back(self) -> None:
        """Let another one have a place that was taken."""
        self._taken -= 1
