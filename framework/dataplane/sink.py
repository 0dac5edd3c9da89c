"""Subscribers inside this process."""

from __future__ import annotations

from enum import IntEnum
from typing import TypeAlias

SinkId: TypeAlias = int


class Overflow(IntEnum):
    """What happens to messages for a sink that holds `bytes_max` already."""

    DROP = 0
    """They are dropped and counted."""
    STALL = 1
    """Clients that publish to it are read no further until it has room.

    Routes are never stalled: theirs are dropped.
    """
    REFUSE = 2
    """They are dropped, and a client that asked for a reply is told that there is no responder."""
