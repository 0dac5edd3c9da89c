"""Subscribers inside the server's process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from framework.dataplane.sink import Overflow

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.dataplane.batch import Batch

TAP_BYTES_MAX = 8 * 1024 * 1024
"""What a tap may hold unless it says otherwise; 32 batches of the largest size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TapSpec:
    """One subscription whose messages arrive in batches, never one by one."""

    name: str
    subject: str
    """May have wildcards."""
    receive: Callable[[Batch], None]
    """Called in the control loop, in order, and must not block.

    The batch is valid until `receive` returns; `Batch.detach` makes a copy to keep.
    """
    queue: str | None = None
    """Queue group to share the messages with; None: gets all of them."""
    bytes_max: int = TAP_BYTES_MAX
    """Bytes that may wait for `receive`."""
    overflow: Overflow = Overflow.DROP
