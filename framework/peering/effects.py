"""Effects that handshakes and meshes of all protocols between servers have in common."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct
from typing_extensions import override

from framework.dataplane.link import LinkId
from framework.peering.notes import Noted
from framework.wire.closed_state import ClosedState

# -- of one connection, performed by its PeerLink --------------------------------------------------


class Send(Struct, frozen=True):
    """Write protocol lines to the peer."""

    data: bytes


class Resume(Struct, frozen=True):
    """Go on reading from the peer."""


class Close(Struct, frozen=True):
    """End the connection, after sending `text` as `-ERR` if it is not empty."""

    reason: ClosedState
    text: str = ""


class ArmTimer(Struct, frozen=True):
    """Tell the machine when `delay_s` seconds have passed."""

    delay_s: float


class CheckPassword(Struct, frozen=True):
    """Compare a password with a hash in a thread, and tell the machine."""

    hashed: str
    password: str

    @override
    def __repr__(self) -> str:
        return "CheckPassword()"  # no log may tell either


LinkEffect: TypeAlias = Noted | Send | Resume | Close | ArmTimer | CheckPassword

# -- of a mesh, performed by its manager -----------------------------------------------------------


class Wait(Struct, frozen=True):
    """Tell the mesh the token when `delay_s` seconds, and up to `jitter_s` more, have passed."""

    token: int
    delay_s: float
    jitter_s: float = 0.0


class AcceptClaim(Struct, frozen=True):
    """The peer that dialed may go on: it is who it may be."""

    link: LinkId


class Dismiss(Struct, frozen=True):
    """Close the connection, after sending `text` as `-ERR` if it is not empty."""

    link: LinkId
    reason: ClosedState
    text: str = ""
