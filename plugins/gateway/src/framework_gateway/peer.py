"""Remote clusters, and connections with them, as the mesh keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.peering import PeerUrl
    from framework.spec import LinkId, TlsSettings
    from framework_gateway.info import GatewayInfo


INTEREST_ONLY: Final = "Interest-Only"
TRANSITIONING: Final = "Transitioning"
OPTIMISTIC: Final = "Optimistic"
"""How messages are sent. Source: nats-server `gateway.go`, `GatewayInterestMode`."""


class Connection(Struct):
    """A connection with another cluster, from its opening until it is closed."""

    link: LinkId
    host: str
    port: int
    url: PeerUrl | None = None
    """Where we dialed to; None: the peer dialed us."""
    gateway: str = ""
    """The cluster at the other end; of an accepted connection, as it claims."""
    info: GatewayInfo | None = None
    """None: it is not registered."""
    registered_ns: int = 0
    """Of the clock that the manager has; 0: it is not."""

    greeted: GatewayInfo | None = None
    """How this server had introduced itself when it was accepted."""
    accounts: dict[str, str] = {}
    """Of an outbound one: modes by the names of accounts whose interest its server tells."""

    @property
    def mode(self) -> str:
        """Return how messages are sent there, in nats-server's word."""
        return INTEREST_ONLY if self.info and self.info.gateway_iom else OPTIMISTIC

    @property
    def is_outbound(self) -> bool:
        """Tell whether we send messages there, and it tells us its interest."""
        return self.url is not None


class Remote(Struct):
    """A cluster that is known."""

    name: str
    configured: tuple[PeerUrl, ...] = ()
    """Empty: others have told of it."""
    tls: TlsSettings | None = None
    """Of connections to it; None: as those that it makes."""
    learned: Mapping[str, PeerUrl] = {}
    """Further URLs by `host:port`, as its servers tell them."""
    link: LinkId | None = None
    """The outbound connection, registered or not yet."""
    token: int = 0
    """Of the dial, or wait, that is under way; 0: there is none."""
    rounds: int = 0
    """Through its URLs without success, since it was connected last."""
    refusals: int = 0
    """Connections in a row that ended early."""

    @property
    def is_implicit(self) -> bool:
        """Tell whether it is not configured."""
        return not self.configured

    @property
    def tls_name(self) -> str:
        """Return whom the certificate of a server must be for that only has an address.

        Source: nats-server `gateway.go`, `saveTLSHostname`.
        """
        return next((url.host for url in self.urls.values() if not url.is_address), "")

    @property
    def urls(self) -> dict[str, PeerUrl]:
        """Return all URLs by `host:port`, those that are configured first."""
        return {**{url.address: url for url in self.configured}, **self.learned}
