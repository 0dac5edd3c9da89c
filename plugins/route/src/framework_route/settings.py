"""Settings of the mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from framework.peering import PeerUrl


class MeshSettings(Struct, frozen=True):
    """Settings of the mesh."""

    routes: tuple[PeerUrl, ...] = ()
    connect_retries: int = 0
    has_connect_backoff: bool = False
    user: str = ""
    """Sent, with the password, to servers that we know by gossip; configured URLs bring theirs."""
    password: str = ""
    """Never a hash."""
    is_advertised: bool = True
    """Clients are told of the other servers."""
    pool_size: int = 3
    """Connections between two servers; 0 or less: one, as before there were pools."""
    is_pool_strict: bool = False
    """A server with another pool size is refused."""
