"""How gates do."""

from __future__ import annotations

from msgspec import Struct


class GateCounters(Struct, frozen=True, kw_only=True):
    """What became of the messages of a gate."""

    messages: int
    """That came to it."""
    passed: int
    changed: int
    refused: int
    """Those as well that it did not decide on, where it is closed."""
    delayed: int
    """Of those that passed."""
    expired: int
    """Not decided on in time."""
    failed: int
    """Not decided on: the answer was missing, or made no sense."""
    waiting_bytes: int
    """Of this moment."""
