"""Result of a match."""

from __future__ import annotations

from msgspec import Struct


class SublistResult(Struct, frozen=True):
    """Values of the subscriptions that a subject reaches; none of the lists has an order."""

    psubs: list[object]
    """Plain subscriptions of this server."""
    remotes: list[object]
    """Other servers with plain interest, each once."""
    qsubs: dict[bytes, list[object]]
    """Members of each queue group, those of this server first."""
