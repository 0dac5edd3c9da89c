"""Effects of the gateway machines, as data for their actors."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from framework.peering import (
    AcceptClaim,
    CheckPassword,
    Dismiss,
    LinkEffect,
    Noted,
    NotedOf,
    PeerUrl,
    Wait,
)

if TYPE_CHECKING:
    from framework.spec import LinkId
    from framework_gateway.info import GatewayInfo


# -- of one connection, performed by its GatewayLink -----------------------------------------------


class Register(Struct, frozen=True):
    """Let the plane exchange interest and messages with the peer."""

    is_outbound: bool
    """We send messages there and hear its interest; else it is the other way round."""
    headers: bool
    traces: bool
    """It reports what becomes of messages that ask for it."""


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

GatewayEffect: TypeAlias = LinkEffect | Register | Report

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


class Tell(Struct, frozen=True):
    """Send protocol lines, such as INFO about another cluster."""

    link: LinkId
    data: bytes


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
