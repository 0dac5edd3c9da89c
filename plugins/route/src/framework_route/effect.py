"""Effects of the route machines, as data for their actors."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field
from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.spec import LinkId
    from framework.wire.closed_state import ClosedState
    from framework.wire.info import RouteInfo
    from framework_route.compression import Choice
    from framework_route.url import RouteUrl


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


# -- of one connection, performed by its PoolConnection --------------------------------------------


class Send(Struct, frozen=True):
    """Write protocol lines to the peer."""

    data: bytes


class Resume(Struct, frozen=True):
    """Go on reading from the peer."""


class Encode(Struct, frozen=True):
    """Compress output and decompress input from now on, or change the level."""

    choice: Choice


class PoolSlot(Struct, frozen=True):
    """Pool slot of a connection that becomes a route: its peer, and the accounts it carries."""

    peer: int
    """Number of the server at the other end."""
    pool_index: int
    """0-based."""
    assigned_size: int
    """By which accounts are assigned to the pool; 0: this connection carries all of them."""
    account: str
    """The only one that it carries; empty: those of its place in the pool."""

    @property
    def is_spare(self) -> bool:
        """Tell whether no account is assigned to it: the peer goes by a size below the pool's."""
        return not self.account and 0 < self.assigned_size <= self.pool_index


class Register(Struct, frozen=True):
    """Let the plane exchange interest and messages with the peer."""

    pool_slot: PoolSlot
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
    """Ask the mesh whether a peer that dialed us belongs to this cluster."""

    remote_id: str
    cluster: str
    cluster_dynamic: bool


class Introduce(Struct, frozen=True):
    """Ask the mesh whether the peer may become a route."""

    info: RouteInfo


class Update(Struct, frozen=True):
    """Tell the mesh what a registered route said later."""

    info: RouteInfo


class Answered(Struct, frozen=True):
    """Tell the mesh that the peer has answered on its route."""


class Compressed(Struct, frozen=True):
    """Report the compression of the connection, for monitoring."""

    shown: str


class Outdated(Struct, frozen=True):
    """Report that the connection cannot follow a reload, and is to be renewed."""


Report: TypeAlias = Claim | Introduce | Update | Answered | Compressed | Outdated | CheckPassword
"""What a connection cannot decide alone, or others want to know."""

ConnectionEffect: TypeAlias = Noted | Send | Resume | Encode | Register | Close | ArmTimer | Report

# -- of the mesh, performed by the RouteManager ----------------------------------------------------


class Dial(Struct, frozen=True):
    """Connect to a server; the outcome comes back with the token."""

    token: int
    url: RouteUrl
    address: str = ""
    """Where the host of `url` is to be found; empty: wherever its name leads."""
    avoided: tuple[str, ...] = ()
    """Addresses of the host that are not to be tried."""
    turn: int = 0
    """How many of its addresses have their turn last."""


class Wait(Struct, frozen=True):
    """Tell the mesh the token when `delay_s` seconds, and up to `jitter_s` more, have passed."""

    token: int
    delay_s: float
    jitter_s: float = 0.0


class Greet(Struct, frozen=True):
    """Begin the handshake of a new connection."""

    link: LinkId
    local: RouteInfo
    """How this server introduces itself on it."""
    url: RouteUrl | None
    """Where we dialed to; None when the peer dialed us."""
    account: str = ""
    """The only one that the connection is to carry, when we dialed."""


class AcceptClaim(Struct, frozen=True):
    """The peer that dialed belongs to this cluster."""

    link: LinkId


class Admit(Struct, frozen=True):
    """The connection is a route from now on."""

    link: LinkId
    pool_slot: PoolSlot
    local: RouteInfo
    """How this server introduces itself at the moment."""


class FetchAccount(Struct, frozen=True):
    """Resolve a pinned account that is not known here."""

    account: str


class Pin(Struct, frozen=True):
    """Let the pools of all servers carry all accounts but these."""

    accounts: tuple[str, ...]


class RepeatInterest(Struct, frozen=True):
    """Tell a route all interest once more: its server takes some that it has refused before."""

    link: LinkId


class Dismiss(Struct, frozen=True):
    """Close the connection, after sending `text` as `-ERR` if it is not empty."""

    link: LinkId
    reason: ClosedState
    text: str = ""


class Gossip(Struct, frozen=True):
    """Send protocol lines about one server to another."""

    link: LinkId
    data: bytes


class NotedOf(Struct, frozen=True):
    """Write a line about one connection to the log."""

    link: LinkId
    level: Level
    event: str
    fields: Mapping[str, object] = field(default_factory=dict)


class ClientUrlsChanged(Struct, frozen=True):
    """Tell clients the URLs of the cluster (`connect_urls`)."""

    urls: tuple[str, ...]


class ClusterNameChanged(Struct, frozen=True):
    """Introduce this server with `local` from now on."""

    local: RouteInfo


class LocalChanged(Struct, frozen=True):
    """Introduce this server with `local` from now on; its cluster has kept its name."""

    local: RouteInfo


class FieldsTold(Struct, frozen=True):
    """A server has told fields of INFO that are not those of routes; they may be none any more."""

    info: RouteInfo


class Overheard(Struct, frozen=True):
    """A server has told of another cluster."""

    peer: RouteInfo
    info: RouteInfo


MeshEffect: TypeAlias = (
    Noted
    | NotedOf
    | Dial
    | Wait
    | Greet
    | AcceptClaim
    | Admit
    | FetchAccount
    | Pin
    | RepeatInterest
    | Dismiss
    | Gossip
    | ClientUrlsChanged
    | ClusterNameChanged
    | LocalChanged
    | FieldsTold
    | Overheard
)
