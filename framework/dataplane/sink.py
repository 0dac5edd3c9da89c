"""Subscribers inside this process."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, TypeAlias

SinkId: TypeAlias = int

PORT_BYTES_MAX: Final = 16 * 1024 * 1024
"""What a port may hold, and what it may have said, unless it says otherwise."""


class TapKind(IntEnum):
    """Which messages a subscriber inside this process gets, and what others notice of it."""

    SUBSCRIBER = 0
    """Those of any subscription: it counts as interest, draws messages of the whole cluster here,
    and a request that it gets is not without responders."""
    INGRESS = 1
    """What clients and leaf nodes of this server publish and may publish, whoever receives it.

    Nobody notices: it is no interest, and a request that nobody serves is without responders.
    """
    UNHEARD = 2
    """Of these, what found no receiver anywhere; whoever published it is told so all the same."""


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
