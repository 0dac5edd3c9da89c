"""Effects of the route machines, as data for their actors."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from framework.peering import (
    CommonEffect,
    Compressed,
    Introduce,
    LinkEffect,
    LocalChanged,
    PeerUrl,
    Update,
)
from framework.wire.info import RouteInfo

if TYPE_CHECKING:
    from framework.spec import LinkId


# -- of one connection, performed by its PoolConnection --------------------------------------------


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
    takes_origins: bool
    """It is told which cluster of leaf nodes a message comes from."""


class Claim(Struct, frozen=True):
    """Ask the mesh whether a peer that dialed us belongs to this cluster."""

    remote_id: str
    cluster: str
    cluster_dynamic: bool


class Answered(Struct, frozen=True):
    """Tell the mesh that the peer has answered on its route."""


class Outdated(Struct, frozen=True):
    """Report that the connection cannot follow a reload, and is to be renewed."""


Report: TypeAlias = (
    Claim | Introduce[RouteInfo] | Update[RouteInfo] | Answered | Compressed | Outdated
)
"""What a connection cannot decide alone, or others want to know."""

ConnectionEffect: TypeAlias = LinkEffect | Register | Report

# -- of the mesh, performed by the RouteManager ----------------------------------------------------


class Dial(Struct, frozen=True):
    """Connect to a server; the outcome comes back with the token."""

    token: int
    url: PeerUrl
    address: str = ""
    """Where the host of `url` is to be found; empty: wherever its name leads."""
    avoided: tuple[str, ...] = ()
    """Addresses of the host that are not to be tried."""
    turn: int = 0
    """How many of its addresses have their turn last."""


class Greet(Struct, frozen=True):
    """Begin the handshake of a new connection."""

    link: LinkId
    local: RouteInfo
    """How this server introduces itself on it."""
    url: PeerUrl | None
    """Where we dialed to; None when the peer dialed us."""
    account: str = ""
    """The only one that the connection is to carry, when we dialed."""


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


class ClientUrlsChanged(Struct, frozen=True):
    """Tell clients the URLs of the cluster (`connect_urls`)."""

    urls: tuple[str, ...]


class ClusterNameChanged(Struct, frozen=True):
    """Introduce this server with `local` from now on."""

    local: RouteInfo


class FieldsTold(Struct, frozen=True):
    """A server has told fields of INFO that are not those of routes; they may be none any more."""

    info: RouteInfo


class Overheard(Struct, frozen=True):
    """A server has told of another cluster."""

    peer: RouteInfo
    info: RouteInfo


MeshEffect: TypeAlias = (
    CommonEffect
    | Dial
    | Greet
    | Admit
    | FetchAccount
    | Pin
    | RepeatInterest
    | ClientUrlsChanged
    | ClusterNameChanged
    | LocalChanged[RouteInfo]
    | FieldsTold
    | Overheard
)
