"""The actor that keeps a server connected to all other clusters."""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct, field
from typing_extensions import override

from framework.peering import DialRounds, Introduce, LocalChanged, PeerManager, Update
from framework.spec import LinkKind
from framework.wire.document import build_document
from framework_gateway.effect import Admit, Claim, Dial, Greet, Led, RemoteChanged
from framework_gateway.gateway_link import GatewayLink
from framework_gateway.info import GOSSIP
from framework_gateway.introduction import cluster_prefix, compression_of, own_prefix
from framework_gateway.limits import DIAL_TIMEOUT_S, SETTLED_S
from framework_gateway.machine import LinkMachine
from framework_gateway.mesh import Mesh
from framework_gateway.neighbours import neighbours_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from framework.peering import PeerUrl
    from framework.spec import Closed, DialFailed, LinkId, Opened, ServerContext
    from framework_gateway.config import GatewayConfig
    from framework_gateway.effect import MeshEffect, Report
    from framework_gateway.info import GatewayInfo

_SETTLED_NS = round(SETTLED_S * 1_000_000_000)


class Lasting(Struct):
    """State that outlives a restart of the manager."""

    config: GatewayConfig
    """In force."""
    local: GatewayInfo
    """How the server introduces itself to others at the moment."""
    check: Callable[[GatewayInfo], str] = lambda _: ""
    """Returns what plugins have against a server."""
    is_dialing: bool = False
    """The server listens, so others may be dialed."""
    tokens: Iterator[int] = field(default_factory=partial(count, 1))
    """Numbers of dials: what an earlier life has begun is not taken for something else."""


class MeshView(Struct, frozen=True):
    """The mesh as monitoring sees it."""

    mesh: Mesh


class GatewayManager(PeerManager):
    """Own the mesh of clusters: one child a connection.

    Args:
        server: The server whose gateways these are.
        lasting: What was before, if this actor is started again.
    """

    class Reload(Struct, frozen=True):
        """Another configuration is in force."""

        config: GatewayConfig
        local: GatewayInfo
        """How the server introduces itself by it."""

    class BeginLameDuck(Struct, frozen=True):
        """The server enters lame duck mode."""

    class NeighboursChanged(Struct, frozen=True):
        """Other servers of this cluster came or went, or changed what they say of gateways."""

    class Recheck(Struct, frozen=True):
        """Plugins have learned something of other servers."""

    class Gossiped(Struct, frozen=True):
        """A server of this cluster knows of another cluster."""

        gateway: str
        urls: tuple[str, ...]

    def __init__(self, *, server: ServerContext, lasting: Lasting) -> None:
        super().__init__(server=server, kind=LinkKind.GATEWAY)
        self._lasting = lasting
        self._mesh = Mesh(
            local=lasting.local,
            settings=lasting.config.mesh,
            tokens=lasting.tokens,
            check=lasting.check,
        )
        self._rounds = DialRounds()
        self._neighbours = neighbours_of(server)
        self._ways: dict[str, LinkId] = {}
        """Routes to other servers of this cluster, by what replies for them begin with."""

    @override
    def on_start(self) -> None:
        self._set_times()
        local = self._lasting.local
        own = own_prefix(local.gateway, local.server_id)
        self._server.plane.set_forward(own.encode())
        self._follow_neighbours()
        if self._lasting.is_dialing:
            self._perform(self._mesh.start())

    @override
    def _follow(self, message: object) -> bool:
        match message:
            case PeerManager.Start():
                self._lasting.is_dialing = True
                self._perform(self._mesh.start())
            case GatewayManager.Reload(config, local):
                self._lasting.config = config
                self._set_times()
                self._perform(self._mesh.receive_reload(config.mesh, local))
            case GatewayManager.BeginLameDuck():
                self._perform(self._mesh.begin_lame_duck())
            case GatewayManager.NeighboursChanged():
                self._follow_neighbours()
            case GatewayManager.Recheck():
                self._perform(self._mesh.recheck())
            case GatewayManager.Gossiped(gateway, urls):
                self._perform(self._mesh.receive_gossip(gateway, urls))
            case PeerManager.Stop():
                self._lasting.is_dialing = False
                self._mesh.stop()
            case _:
                return False
        return True

    @override
    def _describe(self) -> MeshView:
        return MeshView(self._mesh)

    def _follow_neighbours(self) -> None:
        """Let answers for other servers of this cluster take their routes."""
        seen, local, plane = self._neighbours.seen, self._mesh.local, self._server.plane
        ways = {own_prefix(local.gateway, it): link for it, link in seen.ways.items()}
        for prefix in self._ways.keys() - ways.keys():
            plane.remove_forward(prefix.encode())
        for prefix, link in ways.items():
            if self._ways.get(prefix) != link:
                plane.set_forward(prefix.encode(), link)
        self._ways = ways
        self._perform(self._mesh.receive_neighbours(seen.names, seen.urls))

    def _set_times(self) -> None:
        config, values = self._lasting.config, self._server.config.values
        deadline_s = config.write_deadline_s or values["write_deadline"]
        assert isinstance(deadline_s, float | int)
        self._server.plane.set_link_times(
            LinkKind.GATEWAY, write_deadline_s=deadline_s, closes_slow=config.closes_slow
        )

    # -- what the mesh is told --------------------------------------------------------------------

    @override
    def _receive_opened(self, event: Opened) -> Sequence[MeshEffect]:
        url = self._rounds.end(event.token)
        return self._mesh.receive_opened(event.link, event.token, event.host, event.port, url)

    @override
    def _receive_closed(self, event: Closed) -> Sequence[MeshEffect]:
        return self._mesh.receive_closed(event.link, self.now_ns(), _SETTLED_NS)

    @override
    def _receive_dial_failed(self, event: DialFailed) -> Sequence[MeshEffect]:
        token = event.token
        if self._mesh.dialed(token) is None:  # a reload has removed the cluster
            self._rounds.end(token)
        elif url := self._rounds.receive_failed(token):
            self._dial_url(token, url)
        else:
            return self._mesh.receive_dial_failed(token, event.error)
        return []

    @override
    def _receive_timer(self, token: int) -> Sequence[MeshEffect]:
        return self._mesh.receive_timer(token)

    @override
    def _receive_report(self, link: LinkId, report: Report) -> Sequence[MeshEffect]:
        match report:
            case Claim(gateway):
                return self._mesh.receive_claim(link, gateway)
            case Introduce(info):
                return self._mesh.receive_introduction(link, info, self.now_ns())
            case Update(info):
                return self._mesh.receive_update(link, info)

    # -- effects ----------------------------------------------------------------------------------

    @override
    def _perform_own(self, effect: MeshEffect) -> None:
        match effect:
            case Dial(token, urls):
                self._dial(token, urls)
            case Greet(link, gateway):
                self._greet(link, gateway)
            case Admit(link):
                self._links.tell(link, GatewayLink.Admitted(self._mesh.local))
                self._report_opened(link)
            case Led(gateway, link):
                self._forward(gateway, link)
            case LocalChanged(local):
                self._lasting.local = local
                self._server.plane.set_info(LinkKind.GATEWAY, build_document(local))
            case RemoteChanged(gateway, urls) if self._neighbours.gossip is not None:
                told = {"gateway": gateway, "gateway_urls": urls, "gateway_cmd": GOSSIP}
                self._neighbours.gossip(told)

    def _dial(self, token: int, urls: Sequence[PeerUrl]) -> None:
        """Try URLs one after the other, in a random order."""
        order = list(urls)
        self.rng.shuffle(order)
        self._dial_url(token, self._rounds.begin(token, order))

    def _dial_url(self, token: int, url: PeerUrl) -> None:
        remote = self._mesh.dialed(token)
        assert remote is not None
        self._server.dial(
            url.host,
            url.port,
            LinkKind.GATEWAY,
            token,
            DIAL_TIMEOUT_S,
            tls=remote.tls,
            tls_name=remote.tls_name if url.is_address else url.host,
        )

    def _forward(self, gateway: str, link: LinkId | None) -> None:
        """Let replies for a cluster take its link."""
        prefix = cluster_prefix(gateway).encode()
        if link is None:
            self._server.plane.remove_forward(prefix)
        else:
            self._server.plane.set_forward(prefix, link)

    def _report_opened(self, link: LinkId) -> None:
        its = self._mesh.connections[link]
        assert its.info is not None
        name, version = its.info.server_name, its.info.version
        self._links.report_opened(link, host=its.host, port=its.port, name=name, version=version)

    def _greet(self, link: LinkId, gateway: str) -> None:
        connection = self._mesh.connections[link]
        machine = LinkMachine(
            local=self._mesh.local,
            login=self._lasting.config.login,
            gateway=gateway,
            url=connection.url,
            compression=compression_of(self._server, self._lasting.config),
            is_encrypted=self._server.tls_peer(link) is not None,
        )
        self._lead(link, GatewayLink, local=self._mesh.local, machine=machine)
