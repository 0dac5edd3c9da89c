"""Settings of leaf nodes: the hubs of this server, and what others must do to be its leaf nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from framework.peering import CompressionTerms
from framework.redacted import Redacted
from framework_leafnode.limits import (
    COMPRESSION_MODE,
    DIAL_TIMEOUT_S,
    FIRST_INFO_TIMEOUT_S,
    RECONNECT_DELAY_S,
)
from framework_leafnode.url import TLS_SCHEMES

if TYPE_CHECKING:
    from framework.peering import PeerUrl
    from framework.spec import TlsSettings


class ProxySettings(Redacted, frozen=True, kw_only=True):
    """An HTTP proxy by which hubs are reached."""

    hidden: ClassVar = frozenset({"password"})

    host: str
    port: int
    user: str = ""
    """Empty: it asks for none."""
    password: str = ""
    timeout_s: float
    """For connecting, and for its answer."""


class RemoteSettings(Redacted, frozen=True, kw_only=True):
    """A hub that is configured, and the account that is joined with one there."""

    hidden: ClassVar = frozenset({"nkey_seed"})

    urls: tuple[PeerUrl, ...]
    account: str
    """Here."""
    credentials: str = ""
    """File with a JWT and its seed; empty: none."""
    nkey_seed: str = ""
    is_hub: bool = False
    """This server is the hub although it dials."""
    deny_imports: tuple[str, ...] = ()
    deny_exports: tuple[str, ...] = ()
    keeps_order: bool = False
    """The URLs are tried in their order."""
    ignores_discovered: bool = False
    """Only URLs that are configured count."""
    is_isolated: bool = False
    """The other server is not told the interest of other leaf nodes here."""
    requests_isolation: bool = False
    """The other server is asked to do the same."""
    is_disabled: bool = False
    compression: CompressionTerms = CompressionTerms(COMPRESSION_MODE)
    compresses_frames: bool = False
    """By WebSocket, where the hub lets it; then there is no other compression."""
    masks_frames: bool = True
    """By WebSocket; if not, then only where the hub insists."""
    tls: TlsSettings | None = None
    """None: only where the hub requires it, or the URL says so, trusting whom the system trusts."""
    first_info_timeout_s: float = FIRST_INFO_TIMEOUT_S
    dial_timeout_s: float = DIAL_TIMEOUT_S
    proxy: ProxySettings | None = None
    """Every URL is reached by it."""

    @property
    def key(self) -> tuple[tuple[PeerUrl, ...], str, str]:
        """Return what tells it from others, also when its other settings change."""
        return self.urls, self.account, self.credentials

    def needs_tls(self, url: PeerUrl | None) -> bool:
        """Tell whether TLS is spoken with the server at a URL, even if that does not ask for it."""
        return self.tls is not None or (url is not None and url.scheme in TLS_SCHEMES)

    def tls_name(self, url: PeerUrl) -> str:
        """Return whom the certificate of the server at a URL must be for.

        Source: nats-server `leafnode.go`, `saveTLSHostname`: where there is only an address, the
        first of the names that are configured.
        """
        named = (it.host for it in self.urls if not it.is_address)
        return next(named, "") if url.is_address else url.host


class LeafSettings(Redacted, frozen=True, kw_only=True):
    """Settings of all leaf nodes of a server, in both roles."""

    compression: CompressionTerms = CompressionTerms(COMPRESSION_MODE)
    """Of leaf nodes that connect to this server."""
    remotes: tuple[RemoteSettings, ...] = ()
    reconnect_s: float = RECONNECT_DELAY_S
    min_version: tuple[int, int, int] = (0, 0, 0)
    min_version_text: str = ""
    """As it was written; empty: any version will do."""
    is_isolated: bool = False
    """No leaf node is told the interest of others."""
