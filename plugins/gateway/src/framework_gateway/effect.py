"""Effects of the gateway machines, as data for their actors."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field
from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.spec import LinkId
    from framework.wire.closed_state import ClosedState
    from framework_gateway.info import GatewayInfo
    from framework_gateway.url import GatewayUrl


class Level(IntEnum):
    """How much a line of the log matters, in the numbers of `logging`."""

    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40


class Noted(Struct, frozen=True):
    """Write a line to the log."""

    level: Level
    event: str
    """A fixed text; `{name}` stands for the field of that name."""
    fields: Mapping[str, object] = field(default_factory=dict)


# -- of one connection, performed by its GatewayLink -----------------------------------------------


class Send(Struct, frozen=True):
    """Write protocol lines to the peer."""

    data: bytes


class Resume(Struct, frozen=True):
    """Go on reading from the peer."""


class Register(Struct, frozen=True):
    """Let the plane exchange interest and messages with the peer."""

    is_outbound: bool
    """We send messages there and hear its interest; else it is the other way round."""
    headers: bool
    traces: bool
    """It reports what becomes of messages that ask for it."""


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


class Claim(Struct, frozen=True):
    """Ask the mesh whether a cluster that dialed us may connect."""

    gateway: str


class Introduce(Struct, frozen=True):
    """Ask the mesh whether the peer may be registered."""

    info: GatewayInfo


class Update(Struct, frozen=True):
    """Tell the mesh what a registered peer said later."""

    info: GatewayInfo


Report: TypeAlias = Claim | Introduce | Update | CheckPassword
"""What a connection cannot decide alone."""

LinkEffect: TypeAlias = Noted | Send | Resume | Register | Close | ArmTimer | Report

# -- of the mesh, performed by the GatewayManager --------------------------------------------------


class Dial(Struct, frozen=True):
    """Connect to any of these URLs, in a random order; the outcome comes back with the token."""

    token: int
    urls: tuple[GatewayUrl, ...]


class Wait(Struct, frozen=True):
    """Tell the mesh the token when `delay_s` seconds, and up to `jitter_s` more, have passed."""

    token: int
    delay_s: float
    jitter_s: float = 0.0


class Greet(Struct, frozen=True):
    """Begin the handshake of a new connection."""

    link: LinkId
    gateway: str = ""
    """The cluster that we dialed; empty: the peer dialed us."""


class AcceptClaim(Struct, frozen=True):
    """The cluster that dialed may connect."""

    link: LinkId


class Admit(Struct, frozen=True):
    """The connection is registered from now on."""

    link: LinkId


class Dismiss(Struct, frozen=True):
    """Close the connection, after sending `text` as `-ERR` if it is not empty."""

    link: LinkId
    reason: ClosedState
    text: str = ""


class Tell(Struct, frozen=True):
    """Send protocol lines, such as INFO about another cluster."""

    link: LinkId
    data: bytes


class NotedOf(Struct, frozen=True):
    """Write a line about one connection to the log."""

    link: LinkId
    level: Level
    event: str
    fields: Mapping[str, object] = field(default_factory=dict)


class Led(Struct, frozen=True):
    """Send replies for a cluster by a link from now on; None: there is none any more."""

    gateway: str
    link: LinkId | None


class LocalChanged(Struct, frozen=True):
    """Introduce this server with `local` from now on."""

    local: GatewayInfo


class RemoteChanged(Struct, frozen=True):
    """Tell the servers of this cluster of another one."""

    gateway: str
    urls: tuple[str, ...]


MeshEffect: TypeAlias = (
    Noted
    | NotedOf
    | Dial
    | Wait
    | Greet
    | AcceptClaim
    | Admit
    | Dismiss
    | Tell
    | Led
    | LocalChanged
    | RemoteChanged
)
