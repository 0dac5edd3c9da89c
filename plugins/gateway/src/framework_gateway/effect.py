"""Effects of the gateway machines, as data for their actors."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from framework.peering import CommonEffect, Introduce, LinkEffect, LocalChanged, PeerUrl, Update
from framework_gateway.info import GatewayInfo

if TYPE_CHECKING:
    from framework.spec import LinkId


# -- of one connection, performed by its GatewayLink -----------------------------------------------


class Register(Struct, frozen=True):
    """Let the plane exchange interest and messages with the peer."""

    is_outbound: bool
    """We send messages there and hear its interest; else it is the other way round."""
    headers: bool
    traces: bool
    """It reports what becomes of messages that ask for it."""
    is_optimistic: bool = False
    """The peer is older than 2.9: what it does not say that it does not want, it wants."""


class AccountTold(Struct, frozen=True):
    """Go by the interest that the peer tells of an account from now on, and by nothing else."""

    account: str
    ends: bool
    """It has told all; else it is about to."""


class Claim(Struct, frozen=True):
    """Ask the mesh whether a cluster that dialed us may connect."""

    gateway: str


Report: TypeAlias = Claim | Introduce[GatewayInfo] | Update[GatewayInfo]
"""What a connection cannot decide alone."""

GatewayEffect: TypeAlias = LinkEffect | Register | AccountTold | Report

# -- of the mesh, performed by the GatewayManager --------------------------------------------------


class Dial(Struct, frozen=True):
    """Connect to any of these URLs, in a random order; the outcome comes back with the token."""

    token: int
    urls: tuple[PeerUrl, ...]


class Greet(Struct, frozen=True):
    """Begin the handshake of a new connection."""

    link: LinkId
    gateway: str = ""
    """The cluster that we dialed; empty: the peer dialed us."""


class Admit(Struct, frozen=True):
    """The connection is registered from now on."""

    link: LinkId


class Led(Struct, frozen=True):
    """Send replies for a cluster by a link from now on; None: there is none any more."""

    gateway: str
    link: LinkId | None


class RemoteChanged(Struct, frozen=True):
    """Tell the servers of this cluster of another one."""

    gateway: str
    urls: tuple[str, ...]


MeshEffect: TypeAlias = (
    CommonEffect | Dial | Greet | Admit | Led | LocalChanged[GatewayInfo] | RemoteChanged
)
