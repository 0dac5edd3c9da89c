"""Stages that the data plane has: what a link's bytes pass between its socket and the parser."""

from __future__ import annotations

from enum import IntEnum
from typing import TypeAlias

from msgspec import Struct


class Coding(IntEnum):
    """S2, and how hard it tries; whoever reads S2 reads all of them."""

    S2_UNCOMPRESSED = 0
    """Framed, with checksums, and no smaller."""
    S2_FAST = 1
    S2_BETTER = 2
    S2_BEST = 3


class WebSocketFrames(Struct, frozen=True, kw_only=True):
    """Frames of WebSocket, behind the handshake: of whom a peer dialed, or of who has dialed it."""

    is_compressed: bool = False
    """`permessage-deflate` was agreed on, without context takeover in either direction."""
    is_masked: bool = True
    """The peer masks what it sends, as RFC 6455 wants it of who has dialed."""
    masks: bool = False
    """This server masks what it sends: it has dialed."""


PlaneStage: TypeAlias = Coding | WebSocketFrames
"""A stage that is compiled in the plane."""
