"""Leaf nodes and hubs, and connections with them, as `Leafs` keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from framework.peering import PeerUrl
    from framework.spec import LinkId, ResponsePermission
    from framework.wire.info import SubjectPermission
    from framework_leafnode.settings import RemoteSettings


class Urls(Struct, frozen=True):
    """Where servers accept leaf nodes, `host:port` each."""

    plain: tuple[str, ...] = ()
    websocket: tuple[str, ...] = ()


class Rights(Struct, frozen=True, kw_only=True):
    """What a leaf node may do at its hub, and in which account, as both know it."""

    account: str
    """At the hub."""
    is_system: bool = False
    may_subscribe: SubjectPermission | None = None
    """None: to everything."""
    may_publish: SubjectPermission | None = None
    responses: ResponsePermission | None = None
    """Besides: answers to what it was asked; the hub alone knows."""
    user: str = ""
    """Who it is at the hub."""


class Peer(Struct, frozen=True, kw_only=True):
    """Who is at the other end of a connection, and what was agreed on."""

    name: str
    """Of the server; its ID, where it is too old to say a name."""
    version: str
    cluster: str
    domain: str
    account: str
    """Of this server, which the connection carries."""
    remote_account: str
    """Of the other one."""
    rights: Rights
    is_hub: bool
    """It is the hub, and this server its leaf node."""
    headers: bool
    traces: bool
    """It reports what becomes of messages that ask for it."""
    denied: tuple[str, ...] = ()
    """What it does not want to be sent."""
    wants_isolation: bool = False
    compression: str = ""
    """What was agreed on, for monitoring."""


class Connection(Struct):
    """A connection with a leaf node or a hub, from its opening until it is closed."""

    link: LinkId
    cid: int
    host: str
    port: int
    remote: Remote | None = None
    """Which one we dialed; None: the peer dialed us."""
    url: PeerUrl | None = None
    is_websocket: bool = False
    peer: Peer | None = None
    """None: it is not registered."""
    is_isolated: bool = False
    successor: LinkId = 0
    """Connection of the same leaf node that is registered when this one has ended; 0: none."""

    @property
    def is_spoke(self) -> bool:
        """Tell whether this server is the leaf node at it."""
        return self.peer is not None and self.peer.is_hub


class Remote(Struct):
    """A hub that is configured."""

    settings: RemoteSettings
    urls: list[PeerUrl] = field(default_factory=list)
    """In the order in which they are tried; the first one is next."""
    link: LinkId | None = None
    """The connection, registered or not yet."""
    token: int = 0
    """Of the dial, or wait, that is under way; 0: there is none."""
    attempts: int = 0
    """Without success, since it was connected last."""
    was_connected: bool = False
    delay_s: float = 0.0
    """Before it is dialed next, beside the usual; what it, or we, complained of has not changed."""
