"""Connections as hooks see them, and the identity of a client."""

from __future__ import annotations

from msgspec import Struct

from framework.dataplane.link import LinkId, LinkKind
from framework.dataplane.permissions import Permissions
from framework.spec.account import GLOBAL_ACCOUNT
from framework.spec.login import TlsPeer


class ConnectionInfo(Struct, frozen=True, kw_only=True):
    """A connection whose handshake is done."""

    link: LinkId
    kind: LinkKind
    cid: int
    """Counts connections of all kinds from 1."""
    host: str
    port: int
    name: str = ""
    """As the peer calls itself; a server's name on routes."""
    lang: str = ""
    version: str = ""
    """Of the client's library, or of the other server."""
    account: str = GLOBAL_ACCOUNT
    user: str = ""
    """Who logged in, as the authenticator says; without one, what the client calls itself."""
    opened_ns: int = 0
    """When it was opened, monotonic; 0: not known."""
    is_dialed: bool = False
    """This server has connected to the peer."""
    is_client_login: bool = False
    """A leaf node that has logged in by the users of clients."""


class ClientIdentity(Struct, frozen=True, kw_only=True):
    """Identity of a client for monitoring and the system account; it holds no secret."""

    account: str = GLOBAL_ACCOUNT
    user: str = ""
    """As in `ConnectionInfo`."""
    name_tag: str = ""
    """What people call the user, when `user` is a key."""
    nkey: str = ""
    """Public key with which the client has signed; empty: it has not."""
    jwt: str = ""
    """The user's claim; shown only on request."""
    issuer_key: str = ""
    """Public key of who vouches for the user."""
    tags: tuple[str, ...] = ()
    tls: TlsPeer | None = None
    """None: a plain connection."""
    connection_type: str = "STANDARD"
    """As in `LoginRequest`."""
    permissions: Permissions | None = None
    """In force; None: all."""
    expires_s: float = 0.0
    """Unix time at which the connection ends; 0: never."""
