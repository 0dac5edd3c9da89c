"""Effects that handshakes and meshes of all protocols between servers have in common."""

from __future__ import annotations

from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct
from typing_extensions import override

from framework.dataplane.link import LinkId
from framework.peering.compression import Choice
from framework.peering.notes import Noted, NotedOf
from framework.wire.closed_state import ClosedState

InfoT = TypeVar("InfoT")
"""The INFO of a protocol."""

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


class EncodeLink(Struct, frozen=True):
    """Compress output and decompress input from now on, or change the level."""

    choice: Choice


class CheckPassword(Struct, frozen=True):
    """Compare a password with a hash in a thread, and tell the machine."""

    hashed: str
    password: str

    @override
    def __repr__(self) -> str:
        return "CheckPassword()"  # no log may tell either


class Introduce(Struct, Generic[InfoT], frozen=True):
    """Ask the mesh whether the peer may be registered."""

    info: InfoT


class Update(Struct, Generic[InfoT], frozen=True):
    """Tell the mesh what a registered peer said later."""

    info: InfoT


class Compressed(Struct, frozen=True):
    """Tell the mesh the compression of the connection, for monitoring."""

    shown: str


LinkEffect: TypeAlias = Noted | Send | Resume | Close | ArmTimer | EncodeLink | CheckPassword
"""What a PeerLink performs; all others but those of its protocol are for the mesh."""

# -- of a mesh, performed by its manager -----------------------------------------------------------


class Wait(Struct, frozen=True):
    """Tell the mesh the token when `delay_s` seconds, and up to `jitter_s` more, have passed."""

    token: int
    delay_s: float
    jitter_s: float = 0.0


class AcceptClaim(Struct, frozen=True):
    """The peer that dialed may go on: it is who it may be."""

    link: LinkId


class Tell(Struct, frozen=True):
    """Send protocol lines, such as INFO about another server."""

    link: LinkId
    data: bytes


class Dismiss(Struct, frozen=True):
    """Close the connection, after sending `text` as `-ERR` if it is not empty."""

    link: LinkId
    reason: ClosedState
    text: str = ""


class LocalChanged(Struct, Generic[InfoT], frozen=True):
    """Introduce this server with `local` from now on."""

    local: InfoT


CommonEffect: TypeAlias = Noted | NotedOf | Wait | AcceptClaim | Tell | Dismiss
"""What a PeerManager performs by itself."""
