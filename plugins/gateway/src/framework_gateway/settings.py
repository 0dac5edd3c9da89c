"""Settings of the mesh of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from framework.peering import PeerUrl
    from framework.spec import TlsSettings


class RemoteSettings(Struct, frozen=True):
    """A cluster that is configured."""

    name: str
    urls: tuple[PeerUrl, ...]
    tls: TlsSettings | None = None
    """Of connections to it; None: as those that it makes."""


class MeshSettings(Struct, frozen=True):
    """Settings of the mesh of clusters."""

    remotes: tuple[RemoteSettings, ...] = ()
    """Without this server's own cluster."""
    rejects_unknown: bool = False
    """Only clusters that are configured may connect, and are connected to."""
    connect_retries: int = 0
    """Further rounds through the URLs of a cluster that is not configured."""
    has_connect_backoff: bool = False
    user: str = ""
    """Sent, with the password, where a URL brings no login of its own."""
    password: str = ""
    """Never a hash."""
