"""A connection, as the hooks are told of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from framework.dataplane.link import LinkId, LinkKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionInfo:
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
    account: str = "$G"
    user: str = ""
    """Who logged in, as the authenticator says; without one, what the client calls itself."""
