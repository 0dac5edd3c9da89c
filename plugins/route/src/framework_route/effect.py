"""What the machines ask their actors to do, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.spec import LinkId
    from framework.wire.closed_state import ClosedState
    from framework.wire.info import RouteInfo
    from framework_route.url import RouteUrl


class Level(IntEnum):
    """How much a line of the log matters, in the numbers of `logging`."""

    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40


@dataclass(frozen=True, slots=True)
class Noted:
    """Write a line to the log."""

    level: Level
    event: str
    """A fixed text; `{name}` stands for the field of that name."""
    fields: Mapping[str, object] = field(default_factory=dict)


# -- of one connection, performed by its PoolConnection --------------------------------------------


@dataclass(frozen=True, slots=True)
class Send:
    """Write protocol lines to the peer."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Resume:
    """Go on reading from the peer."""


@dataclass(frozen=True, slots=True)
class Register:
    """Let the plane exchange interest and messages with the peer."""

    headers: bool
    traces: bool
    """It reports what becomes of messages that ask for it."""


@dataclass(frozen=True, slots=True)
class Close:
    """End the connection, after sending `text` as `-ERR` if it is not empty."""

    reason: ClosedState
    text: str = ""


@dataclass(frozen=True, slots=True)
class ArmTimer:
    """Tell the machine when `delay_s` seconds have passed."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class Claim:
    """Ask the mesh whether a server that dialed us belongs to this cluster."""

    remote_id: str
    cluster: str
    cluster_dynamic: bool


@dataclass(frozen=True, slots=True)
class Introduce:
    """Ask the mesh whether the peer may become a route."""

    info: RouteInfo


@dataclass(frozen=True, slots=True)
class Update:
    """Tell the mesh what a registered route said later."""

    info: RouteInfo


ConnectionEffect: TypeAlias = (
    Noted | Send | Resume | Register | Close | ArmTimer | Claim | Introduce | Update
)

# -- of the mesh, performed by the RouteManager ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Dial:
    """Connect to a server; the outcome comes back with the token."""

    token: int
    url: RouteUrl


@dataclass(frozen=True, slots=True)
class Wait:
    """Tell the mesh the token when `delay_s` seconds, and up to `jitter_s` more, have passed."""

    token: int
    delay_s: float
    jitter_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Greet:
    """Begin the handshake of a new connection."""

    link: LinkId
    local: RouteInfo
    """How this server introduces itself on it."""
    url: RouteUrl | None
    """Where we dialed to; None when the peer dialed us."""


@dataclass(frozen=True, slots=True)
class AcceptClaim:
    """The server that dialed belongs to this cluster."""

    link: LinkId


@dataclass(frozen=True, slots=True)
class Admit:
    """The connection is the route to its server from now on."""

    link: LinkId


@dataclass(frozen=True, slots=True)
class Dismiss:
    """Close the connection, after sending `text` as `-ERR` if it is not empty."""

    link: LinkId
    reason: ClosedState
    text: str = ""


@dataclass(frozen=True, slots=True)
class Gossip:
    """Send protocol lines about one server to another one."""

    link: LinkId
    data: bytes


@dataclass(frozen=True, slots=True)
class NotedOf:
    """Write a line about one connection to the log."""

    link: LinkId
    level: Level
    event: str
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClientUrlsChanged:
    """Tell the clients where the servers of the cluster can be reached."""

    urls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClusterNameChanged:
    """Introduce this server with `local` from now on."""

    local: RouteInfo


@dataclass(frozen=True, slots=True)
class LocalChanged:
    """Introduce this server with `local` from now on; its cluster has kept its name."""

    local: RouteInfo


MeshEffect: TypeAlias = (
    Noted
    | NotedOf
    | Dial
    | Wait
    | Greet
    | AcceptClaim
    | Admit
    | Dismiss
    | Gossip
    | ClientUrlsChanged
    | ClusterNameChanged
    | LocalChanged
)
