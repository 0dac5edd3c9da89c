"""Supervision: restart, stop or escalate when an actor fails."""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class Supervision(Struct, frozen=True):
    """How often a failed actor is started again, and what follows when that was too often.

    A restart makes a new object from the arguments of the spawn, after `on_failure` ran and
    all children have stopped. References, the name and the waiting messages stay; the message
    that failed is gone.
    """

    restarts_max: int = 5
    """Restarts within `within_s`; 0 for never."""
    within_s: float = 60.0
    """More than 0."""
    backoff_s: float = 0.05
    """Before the first restart; doubles with each further one within `within_s`."""
    backoff_max_s: float = 5.0
    """At least `backoff_s`."""
    escalate: bool = True
    """After the last restart the parent fails too; False: only this actor stops."""

    def __post_init__(self) -> None:
        assert self.restarts_max >= 0
        assert self.within_s > 0
        assert 0 <= self.backoff_s <= self.backoff_max_s

    def delay_s(self, restart_count: int) -> float:
        """Return the seconds to wait before restart number `restart_count`; 1-based."""
        # The cap keeps the float finite; any back-off times 2**30 is over its maximum.
        return min(self.backoff_max_s, self.backoff_s * 2.0 ** min(restart_count - 1, 30))


STOP_ON_FAILURE: Final = Supervision(restarts_max=0, escalate=False)
"""As pykka does: a failed actor stops, and nobody else does."""
