"""Routes of a server by its status line, as the supervisor reads it: up, missing."""

from __future__ import annotations

from msgspec import Struct, convert
from msgspec.structs import replace

from framework_route.limits import READ_PEERS_MAX


class PeerReport(Struct, frozen=True, kw_only=True):
    """The routes to one other server. Of lists of names, only the first few are there."""

    name: str
    pool: int
    """Connections of the pool that are up."""
    pool_size: int
    pool_lacks: tuple[int, ...] = ()
    """Places of the pool that no connection has."""
    accounts: tuple[str, ...] = ()
    """With connections of their own that are up."""
    accounts_count: int = 0
    accounts_lacking: tuple[str, ...] = ()
    """Pinned, but without their connection."""
    accounts_lacking_count: int = 0
    compression: tuple[str, ...] = ()
    """All that its connections have: one, unless it has just changed."""
    rtt_ns: int = 0
    """0: not known yet."""


class MeshReport(Struct, frozen=True, kw_only=True):
    """The routes of one server."""

    address: str = ""
    """Where it listens for them."""
    routes: int = 0
    """Connections that are up."""
    peers: tuple[PeerReport, ...]
    peers_left_out: int = 0
    sought: tuple[str, ...] = ()
    """Addresses of servers that it dials, and has no route to."""
    sought_left_out: int = 0


def mesh_from_document(document: object) -> MeshReport:
    """Return what a server says of its routes.

    Raises:
        ValueError: It makes no sense.
    """
    mesh = convert(document, MeshReport)
    return replace(mesh, peers=mesh.peers[:READ_PEERS_MAX])
