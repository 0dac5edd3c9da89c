"""Settings of leaf nodes: the hubs of this server, and what others must do to be its leaf nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from framework.redacted import Redacted
from framework_leafnode.limits import DIAL_TIMEOUT_S, FIRST_INFO_TIMEOUT_S, RECONNECT_DELAY_S

if TYPE_CHECKING:
    from framework.peering import PeerUrl


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
    first_info_timeout_s: float = FIRST_INFO_TIMEOUT_S
    dial_timeout_s: float = DIAL_TIMEOUT_S

    @property
    def key(self) -> tuple[tuple[PeerUrl, ...], str, str]:
        """Return what tells it from others, also when its other settings change."""
        return self.urls, self.account, self.credentials


class LeafSettings(Redacted, frozen=True, kw_only=True):
    """Settings of all leaf nodes of a server, in both roles."""

    remotes: tuple[RemoteSettings, ...] = ()
    reconnect_s: float = RECONNECT_DELAY_S
    min_version: tuple[int, int, int] = (0, 0, 0)
    min_version_text: str = ""
    """As it was written; empty: any version will do."""
    is_isolated: bool = False
    """No leaf node is told the interest of others."""
