"""Effects of the leaf node machines, as data for their actors."""

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
from framework_leafnode.info import LeafInfo
from framework_leafnode.peer import Peer

if TYPE_CHECKING:
    from framework.spec import LinkId
    from framework_leafnode.info import LeafConnect
    from framework_leafnode.settings import RemoteSettings

# -- of one connection, performed by its LeafLink --------------------------------------------------


class Greet(Struct, frozen=True):
    """Answer the first INFO of a hub: sign in, say CONNECT, and go on."""

    info: LeafInfo
    compression: str
    """That was agreed on."""


class Secure(Struct, frozen=True):
    """Begin TLS with a hub, and tell the machine when that is done."""


class Authenticate(Struct, frozen=True):
    """Find out whether a leaf node is who it says, and tell the machine its `Rights`."""

    connect: LeafConnect


class Register(Struct, frozen=True):
    """Let the plane exchange interest and messages with the peer."""

    peer: Peer
    is_isolated: bool
    loop_subject: str
    """Of the account at this server."""


class Delay(Struct, frozen=True):
    """Wait before the hub is dialed again: what is wrong takes longer to be set right."""

    delay_s: float


Report: TypeAlias = Introduce[Peer] | Update[LeafInfo] | Compressed | Delay
"""What a connection cannot decide alone, or others want to know."""

LeafEffect: TypeAlias = LinkEffect | Secure | Greet | Authenticate | Register | Report

# -- of all leaf nodes and hubs, performed by the LeafManager --------------------------------------


class Dial(Struct, frozen=True):
    """Connect to this URL; the outcome comes back with the token."""

    token: int
    url: PeerUrl
    settings: RemoteSettings


class Lead(Struct, frozen=True):
    """Begin the handshake of a new connection."""

    link: LinkId


class Admit(Struct, frozen=True):
    """The connection is registered from now on."""

    link: LinkId


LeafsEffect: TypeAlias = CommonEffect | Dial | Lead | Admit | LocalChanged[LeafInfo]
