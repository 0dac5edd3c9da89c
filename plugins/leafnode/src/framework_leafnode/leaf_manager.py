"""The actor that keeps a server connected to its hubs, and lets leaf nodes in."""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct, field
from typing_extensions import override

from framework.peering import (
    Compressed,
    Compression,
    CompressionTerms,
    Introduce,
    LocalChanged,
    PeerManager,
    Update,
)
from framework.spec import UNLIMITED, LinkKind, TlsSettings
from framework.wire.document import build_document
from framework_leafnode.effect import Admit, Delay, Dial, Lead
from framework_leafnode.leaf_link import LeafLink
from framework_leafnode.leafs import Leafs
from framework_leafnode.machine import LeafHandshake
from framework_leafnode.neighbours import neighbours_of
from framework_leafnode.peer import Connection, Urls
from framework_leafnode.url import is_websocket

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.peering import PeerUrl
    from framework.spec import Closed, DialFailed, DialHandshake, LinkId, Opened, ServerContext
    from framework_leafnode.config import LeafConfig
    from framework_leafnode.effect import LeafsEffect, Report
    from framework_leafnode.info import LeafInfo
    from framework_leafnode.settings import ProxySettings, RemoteSettings
    from framework_leafnode.upgrade import HubUpgrade

_LOOP_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LOOP_LENGTH = 22
_ADDRESSES = "_GR_.>"
"""Source: nats-server `leafnode.go`, `initLeafNodeSmapAndSendSubs`."""


class Lasting(Struct):
    """State that outlives a restart of the manager."""

    config: LeafConfig
    """In force."""
    local: LeafInfo
    """How the server introduces itself at the moment."""
    is_dialing: bool = False
    """The server listens, so hubs may be dialed."""
    tokens: Iterator[int] = field(default_factory=partial(count, 1))
    """Numbers of dials: what an earlier life has begun is not taken for something else."""
    loop_subjects: dict[str, str] = {}
    """Of accounts here: who tells interest in them leads back here."""


class LeafsView(Struct, frozen=True):
    """Leaf nodes and hubs as monitoring sees them."""

    leafs: Leafs


class LeafManager(PeerManager):
    """Own all leaf node connections: one child each.

    Args:
        server: The server whose leaf nodes these are.
        lasting: What was before, if this actor is started again.
    """

    class Reload(Struct, frozen=True):
        """Another configuration is in force."""

        config: LeafConfig
        local: LeafInfo
        """How the server introduces itself by it."""

    class NeighboursChanged(Struct, frozen=True):
        """Other servers of this cluster came or went, or accept leaf nodes elsewhere."""

        urls: Urls

    def __init__(self, *, server: ServerContext, lasting: Lasting) -> None:
        super().__init__(server=server, kind=LinkKind.LEAF)
        self._lasting = lasting
        self._leafs = Leafs(
            local=lasting.local,
            settings=lasting.config.settings,
            tokens=lasting.tokens,
            room=self._room,
        )
        self._urls: dict[int, PeerUrl] = {}
        """Being dialed."""
        self._upgrades: dict[int, HubUpgrade] = {}
        """Of those that are dialed by WebSocket."""
        self._nonces: dict[LinkId, bytes] = {}
        """Of connections whose actor is about to begin."""

    @override
    def on_start(self) -> None:
        self._server.plane.set_nonces(LinkKind.LEAF, on=True)
        self._set_times()
        self._perform(self._leafs.receive_neighbours(neighbours_of(self._server).urls))
        if self._lasting.is_dialing:
            self._perform(self._leafs.start())

    @override
    def _follow(self, message: object) -> bool:
        match message:
            case PeerManager.Start():
                self._lasting.is_dialing = True
                self._perform(self._leafs.start())
            case LeafManager.Reload(config, local):
                self._lasting.config = config
                self._set_times()
                self._perform(self._leafs.receive_reload(config.settings, local))
                for link in self._links:
                    self._links.tell(link, LeafLink.Recheck(config.logins))
            case LeafManager.NeighboursChanged(urls):
                self._perform(self._leafs.receive_neighbours(urls))
            case PeerManager.Stop():
                self._lasting.is_dialing = False
                self._leafs.stop()
            case _:
                return False
        return True

    @override
    def _describe(self) -> LeafsView:
        return LeafsView(self._leafs)

    def _room(self, account: str) -> int | None:
        """Return how many leaf nodes an account may have; None: any number."""
        spec = self._server.accounts.get(account)
        most = spec.limits.max_leafnodes if spec else UNLIMITED
        return most if most >= 0 else None

    def _set_times(self) -> None:
        config, values = self._lasting.config, self._server.config.values
        deadline_s = config.write_deadline_s or values["write_deadline"]
        assert isinstance(deadline_s, float | int)
        self._server.plane.set_link_times(
            LinkKind.LEAF, write_deadline_s=deadline_s, closes_slow=config.closes_slow
        )

    # -- what the machine is told -----------------------------------------------------------------

    @override
    def _receive_opened(self, event: Opened) -> Sequence[LeafsEffect]:
        self._nonces[event.link] = event.nonce
        url, upgrade = self._urls.pop(event.token, None), self._upgrades.pop(event.token, None)
        connection = Connection(event.link, event.cid, event.host, event.port, url=url)
        came_by = self._server.transport_of(event.link)
        connection.is_websocket = bool(came_by) or upgrade is not None
        return self._leafs.receive_opened(connection, event.token)

    @override
    def _receive_closed(self, event: Closed) -> Sequence[LeafsEffect]:
        self._nonces.pop(event.link, None)
        return self._leafs.receive_closed(event.link, event.reason, event.detail)

    @override
    def _receive_dial_failed(self, event: DialFailed) -> Sequence[LeafsEffect]:
        self._urls.pop(event.token, None)
        self._upgrades.pop(event.token, None)
        return self._leafs.receive_dial_failed(event.token, event.error)

    @override
    def _receive_timer(self, token: int) -> Sequence[LeafsEffect]:
        return self._leafs.receive_timer(token)

    @override
    def _receive_report(self, link: LinkId, report: Report) -> Sequence[LeafsEffect]:
        match report:
            case Introduce(peer):
                return self._leafs.receive_introduction(link, peer)
            case Update(info):
                return self._leafs.receive_update(link, info)
            case Compressed(shown):
                return self._leafs.receive_compressed(link, shown)
            case Delay(delay_s):
                return self._leafs.receive_delay(link, delay_s)

    # -- effects ----------------------------------------------------------------------------------

    @override
    def _perform_own(self, effect: LeafsEffect) -> None:
        match effect:
            case Dial(token, url, settings):
                self._dial(token, url, settings)
            case LocalChanged(local):
                self._lasting.local = local
                self._server.plane.set_info(LinkKind.LEAF, build_document(local))
            case Lead(link):
                self._begin(link)
            case Admit(link):
                self._admit(link)

    def _dial(self, token: int, url: PeerUrl, settings: RemoteSettings) -> None:
        """Connect to a hub; TLS follows its INFO, unless it is to come first."""
        self._urls[token] = url
        is_first = settings.tls is not None and settings.tls.handshake_first
        if is_websocket(url):
            self._upgrades[token] = self._upgrade(url, settings)
            is_first = settings.needs_tls(url)
        proxy = settings.proxy
        self._server.dial(
            proxy.host if proxy else url.host,
            proxy.port if proxy else url.port,
            LinkKind.LEAF,
            token,
            proxy.timeout_s if proxy else settings.dial_timeout_s,
            tls=settings.tls or TlsSettings() if is_first else None,
            tls_name=settings.tls_name(url) or url.host,
            is_plain=not is_first,
            tunnel=self._tunnel(url, proxy) if proxy else None,
            handshake=self._upgrades.get(token),
        )

    @staticmethod
    def _tunnel(url: PeerUrl, proxy: ProxySettings) -> DialHandshake:
        from framework_leafnode.proxy import ProxyTunnel  # noqa: PLC0415 - few hubs need h11

        return ProxyTunnel(url, proxy)

    def _upgrade(self, url: PeerUrl, settings: RemoteSettings) -> HubUpgrade:
        from framework_leafnode.upgrade import HubUpgrade  # noqa: PLC0415 - few hubs need h11

        compresses = settings.compresses_frames and self._server.can_compress_frames()
        key = self.rng.randbytes(16)
        return HubUpgrade(url, key, compresses=compresses, masks=settings.masks_frames)

    def _begin(self, link: LinkId) -> None:
        connection, config = self._leafs.connections[link], self._lasting.config
        remote = connection.remote.settings if connection.remote else None
        nonce = self._nonces.pop(link, b"")
        wanted = remote.compression if remote else config.settings.compression
        if connection.is_websocket:
            # nats-server's S2 stands around the frames, where proxies look for them.
            wanted = CompressionTerms("off")
        machine = LeafHandshake(
            local=self._leafs.local,
            settings=config.settings,
            remote=remote,
            compression=Compression(wanted, self._server.compression_modes),
            says_info=connection.is_websocket,
            # TLS of WebSocket, if any, is the port's, whatever INFO says of that of leaf nodes.
            is_secured=connection.is_websocket or self._server.tls_peer(link) is not None,
            needs_tls=remote is not None and remote.needs_tls(connection.url),
            nonce=nonce.decode(),
            cid=connection.cid,
            timeout_s=config.logins.timeout_s,
        )
        self._lead(
            link,
            LeafLink,
            local=self._leafs.local,
            logins=config.logins,
            connection=connection,
            nonce=nonce,
            machine=machine,
        )

    def _admit(self, link: LinkId) -> None:
        its = self._leafs.connections[link]
        peer = its.peer
        assert peer is not None
        # What other clusters ask here is answered there by an address: see `framework_gateway`.
        has_gateways = self._server.listening_address(LinkKind.GATEWAY) is not None
        addresses = (_ADDRESSES,) if has_gateways else ()
        loop_subject = self._loop_subject(peer.account)
        self._links.tell(link, LeafLink.Admitted(its.is_isolated, loop_subject, addresses))
        self._links.report_opened(
            link,
            host=its.host,
            port=its.port,
            name=peer.name,
            version=peer.version,
            account=peer.account,
            user=peer.rights.user,
            is_dialed=its.remote is not None,
            is_client_login=its.remote is None and not self._lasting.config.logins.users,
        )

    def _loop_subject(self, account: str) -> str:
        """Return what tells of ways back here, by an account.

        Source: nats-server `leafnode.go`, `initLeafNodeSmapAndSendSubs`.
        """
        known = self._lasting.loop_subjects
        if account not in known:
            digits = (self.rng.choice(_LOOP_DIGITS) for _ in range(_LOOP_LENGTH))
            known[account] = f"$LDS.{''.join(digits)}"
        return known[account]
