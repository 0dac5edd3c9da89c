"""The actor that keeps a server connected to all other clusters."""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct, field
from typing_extensions import override

from framework.actors import Component
from framework.peering import (
    AcceptClaim,
    CheckPassword,
    Dismiss,
    Noted,
    NotedOf,
    PasswordQueue,
    PeerLinks,
    Wait,
    matches,
    write_note,
)
from framework.spec import (
    Closed,
    ClosedState,
    DialFailed,
    ErrReceived,
    Greeting,
    LinkEvents,
    LinkKind,
    Opened,
    Traced,
)
from framework.spec.endings import log_ending
from framework.spec.tracing import log_traced
from framework.wire.document import build_document
from framework_gateway.effect import (
    Admit,
    Claim,
    Dial,
    Greet,
    Introduce,
    Led,
    LocalChanged,
    RemoteChanged,
    Tell,
    Update,
)
from framework_gateway.gateway_link import GatewayLink
from framework_gateway.info import GOSSIP
from framework_gateway.introduction import cluster_prefix, own_prefix
from framework_gateway.limits import DIAL_TIMEOUT_S, SETTLED_S
from framework_gateway.machine import LinkMachine
from framework_gateway.mesh import Mesh
from framework_gateway.neighbours import neighbours_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from framework.actors import ActorRef
    from framework.peering import PeerUrl
    from framework.spec import Event, LinkId, ServerContext
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
    is_dialing: bool = False
    """The server listens, so others may be dialed."""
    tokens: Iterator[int] = field(default_factory=partial(count, 1))
    """Numbers of dials: what an earlier life has begun is not taken for something else."""


class _Round(Struct):
    """The URLs of a cluster, tried one after the other."""

    url: PeerUrl
    """Being dialed."""
    rest: list[PeerUrl]


class MeshView(Struct, frozen=True):
    """The mesh as monitoring sees it."""

    mesh: Mesh


class GatewayManager(Component):
    """Own the mesh of clusters: one child a connection.

    Args:
        server: The server whose gateways these are.
        lasting: What was before, if this actor is started again.
    """

    class Reported(Struct, frozen=True):
        """Effects of a connection for the mesh."""

        link: LinkId
        report: Report

    class Start(Struct, frozen=True):
        """The server listens: dial the clusters that are configured."""

    class Reload(Struct, frozen=True):
        """Another configuration is in force."""

        config: GatewayConfig
        local: GatewayInfo
        """How the server introduces itself by it."""

    class NeighboursChanged(Struct, frozen=True):
        """Other servers of this cluster came or went, or changed what they say of gateways."""

    class Gossiped(Struct, frozen=True):
        """A server of this cluster knows of another cluster."""

        gateway: str
        urls: tuple[str, ...]

    class Stop(Struct, frozen=True):
        """The server is about to stop: connections that end are not missed any more."""

    class Describe(Struct, frozen=True):
        """Ask for the `MeshView`."""

    class _PasswordChecked(Struct, frozen=True):
        """Whether a password was right, or what its check has raised."""

        link: LinkId
        outcome: object

    class _WaitOver(Struct, frozen=True):
        """The time of a `Wait` has passed."""

        token: int

    def __init__(self, *, server: ServerContext, lasting: Lasting) -> None:
        super().__init__()
        self._server = server
        self._lasting = lasting
        self._mesh = Mesh(local=lasting.local, settings=lasting.config.mesh, tokens=lasting.tokens)
        self._rounds: dict[int, _Round] = {}
        self._passwords = PasswordQueue()
        self._links = PeerLinks(server, LinkKind.GATEWAY)
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
    def on_failure(
        self,
        exception_type: type[BaseException] | None,
        exception_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._links.abandon()

    @override
    def on_child_stopped(self, child: ActorRef[GatewayLink]) -> None:
        closed = self._links.receive_stopped(child)
        if closed is not None:
            self._bury(closed)

    @override
    def on_receive(self, message: object) -> MeshView | None:
        match message:
            case LinkEvents(events):
                for event in events:
                    self._receive_event(event)
            case GatewayManager.Reported(link, report):
                self._perform(self._decide(link, report))
            case DialFailed(token, error):
                self._receive_dial_failed(token, error)
            case GatewayManager._WaitOver(token):
                self._perform(self._mesh.receive_timer(token))
            case GatewayManager._PasswordChecked(link, outcome):
                self._passwords.end()
                self._links.tell(link, GatewayLink.PasswordChecked(outcome is True))
                self._check_password()
            case GatewayManager.Describe():
                return MeshView(self._mesh)
            case _ if not self._follow(message):
                super().on_receive(message)
        return None

    def _follow(self, message: object) -> bool:
        """Do what the life of the server and its cluster asks for; return whether it is that."""
        match message:
            case GatewayManager.Start():
                self._lasting.is_dialing = True
                self._perform(self._mesh.start())
            case GatewayManager.Reload(config, local):
                self._lasting.config = config
                self._set_times()
                self._perform(self._mesh.receive_reload(config.mesh, local))
            case GatewayManager.NeighboursChanged():
                self._follow_neighbours()
            case GatewayManager.Gossiped(gateway, urls):
                self._perform(self._mesh.receive_gossip(gateway, urls))
            case GatewayManager.Stop():
                self._lasting.is_dialing = False
                self._mesh.stop()
            case _:
                return False
        return True

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

    # -- links ------------------------------------------------------------------------------------

    def _receive_event(self, event: Event) -> None:
        match event:
            case Opened():
                self._receive_opened(event)
            case Closed(link=link):
                self._passwords.forget(link)
                if self._links.receive_closed(event):
                    self._bury(event)
            case Greeting(link=link) if link not in self._links:
                # It was opened when this actor failed, and nobody leads it any further.
                self._server.plane.close(link, ClosedState.ROUTE_REMOVED)
            case Greeting(link=link) | ErrReceived(link=link):
                self._links.tell(link, LinkEvents((event,)))
            case Traced(link=link) if link in self._links:
                log_traced(self._links.log_of(link), event)
            case _:
                return

    def _receive_opened(self, event: Opened) -> None:
        self._links.receive_opened(event)
        begun = self._rounds.pop(event.token, None)
        url = begun.url if begun is not None else None
        opened = self._mesh.receive_opened(event.link, event.token, event.host, event.port, url)
        self._perform(opened)

    def _bury(self, event: Closed) -> None:
        log_ending(self._links.log_of(event.link), event)
        self._perform(self._mesh.receive_closed(event.link, self.now_ns(), _SETTLED_NS))
        self._links.remove(event.link)

    def _decide(self, link: LinkId, report: Report) -> Sequence[MeshEffect]:
        match report:
            case Claim(gateway):
                return self._mesh.receive_claim(link, gateway)
            case Introduce(info):
                return self._mesh.receive_introduction(link, info, self.now_ns())
            case Update(info):
                return self._mesh.receive_update(link, info)
            case CheckPassword():
                self._passwords.add(link, report)
                self._check_password()
                return []

    def _check_password(self) -> None:
        """Let a thread check the next password that waits, unless it checks one."""
        begun = self._passwords.begin()
        if begun is not None:
            link, check = begun
            answer = partial(GatewayManager._PasswordChecked, link)
            self.run_blocking(matches, check.hashed, check.password, answer=answer)

    # -- dialing ----------------------------------------------------------------------------------

    def _dial(self, token: int, urls: Sequence[PeerUrl]) -> None:
        """Try URLs one after the other, in a random order."""
        rest = list(urls)
        self.rng.shuffle(rest)
        url = rest.pop()
        self._rounds[token] = _Round(url, rest)
        self._dial_url(token, url)

    def _dial_url(self, token: int, url: PeerUrl) -> None:
        self._server.dial(
            url.host,
            url.port,
            LinkKind.GATEWAY,
            token,
            DIAL_TIMEOUT_S,
            tls_name=self._lasting.config.tls_name if url.is_address else url.host,
        )

    def _receive_dial_failed(self, token: int, error: str) -> None:
        begun = self._rounds.get(token)
        if begun is not None and begun.rest:
            begun.url = begun.rest.pop()
            self._dial_url(token, begun.url)
            return
        self._rounds.pop(token, None)
        self._perform(self._mesh.receive_dial_failed(token, error))

    # -- effects ----------------------------------------------------------------------------------

    def _perform(self, effects: Sequence[MeshEffect]) -> None:
        for effect in effects:
            match effect:
                case Noted():
                    write_note(self._server.log, effect)
                case NotedOf(link=link):
                    write_note(self._links.log_of(link), effect)
                case Dial(token, urls):
                    self._dial(token, urls)
                case Wait(token, delay_s, jitter_s):
                    delay_s += self.rng.uniform(0.0, jitter_s)
                    self.tell_later(delay_s, GatewayManager._WaitOver(token))
                case Led(gateway, link):
                    self._lead(gateway, link)
                case LocalChanged(local):
                    self._lasting.local = local
                    self._server.plane.set_info(LinkKind.GATEWAY, build_document(local))
                case RemoteChanged(gateway, urls) if self._neighbours.gossip is not None:
                    told = {"gateway": gateway, "gateway_urls": urls, "gateway_cmd": GOSSIP}
                    self._neighbours.gossip(told)
                case RemoteChanged():
                    pass  # nobody is there to be told
                case _:
                    self._perform_on_link(effect)

    def _lead(self, gateway: str, link: LinkId | None) -> None:
        """Let replies for a cluster take its link."""
        prefix = cluster_prefix(gateway).encode()
        if link is None:
            self._server.plane.remove_forward(prefix)
        else:
            self._server.plane.set_forward(prefix, link)

    def _perform_on_link(self, effect: Greet | AcceptClaim | Admit | Dismiss | Tell) -> None:
        match effect:
            case Greet(link, gateway):
                self._greet(link, gateway)
            case AcceptClaim(link):
                self._links.tell(link, GatewayLink.ClaimAccepted())
            case Admit(link):
                self._links.tell(link, GatewayLink.Admitted(self._mesh.local))
                self._report_opened(link)
            case Tell(link, data):
                self._links.tell(link, GatewayLink.Tell(data))
            case Dismiss(link, reason, text):
                self._links.dismiss(link, reason, text)

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
        )
        actor = self.spawn(
            GatewayLink,
            name=self._links.actor_name(link),
            server=self._server,
            link=link,
            local=self._mesh.local,
            machine=machine,
            report=partial(self._take_report, link),
            log=self._links.log_of(link),
        )
        self._links.lead(link, actor)

    def _take_report(self, link: LinkId, report: Report) -> None:
        self.actor_ref.tell(GatewayManager.Reported(link, report))
