"""The actor that keeps a server connected to its hubs, and lets leaf nodes in."""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct, field
from typing_extensions import override

from framework.actors import Component
from framework.peering import Dismiss, Noted, NotedOf, PeerLinks, Wait, write_note
from framework.spec import (
    UNLIMITED,
    Closed,
    ClosedState,
    DialFailed,
    LinkEvents,
    LinkKind,
    Opened,
    Traced,
)
from framework.spec.endings import log_ending
from framework.spec.tracing import log_traced
from framework.wire.document import build_document
from framework_leafnode.effect import (
    Admit,
    Delay,
    Dial,
    Introduce,
    Lead,
    LocalChanged,
    Tell,
    Update,
)
from framework_leafnode.leaf_link import LeafLink
from framework_leafnode.leafs import Leafs
from framework_leafnode.machine import LeafHandshake
from framework_leafnode.peer import Connection

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from framework.actors import ActorRef
    from framework.peering import PeerUrl
    from framework.spec import Event, LinkId, ServerContext
    from framework_leafnode.config import LeafConfig
    from framework_leafnode.effect import LeafsEffect, Report
    from framework_leafnode.info import LeafInfo

_LOOP_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LOOP_LENGTH = 22


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


class LeafManager(Component):
    """Own all leaf node connections: one child each.

    Args:
        server: The server whose leaf nodes these are.
        lasting: What was before, if this actor is started again.
    """

    class Reported(Struct, frozen=True):
        """Effects of a connection for all."""

        link: LinkId
        report: Report

    class Start(Struct, frozen=True):
        """The server listens: dial the hubs."""

    class Reload(Struct, frozen=True):
        """Another configuration is in force."""

        config: LeafConfig
        local: LeafInfo
        """How the server introduces itself by it."""

    class NeighboursChanged(Struct, frozen=True):
        """Other servers of this cluster came or went, or accept leaf nodes elsewhere."""

        urls: tuple[str, ...]

    class Stop(Struct, frozen=True):
        """The server is about to stop: connections that end are not missed any more."""

    class Describe(Struct, frozen=True):
        """Ask for the `LeafsView`."""

    class _WaitOver(Struct, frozen=True):
        """The time of a `Wait` has passed."""

        token: int

    def __init__(self, *, server: ServerContext, lasting: Lasting) -> None:
        super().__init__()
        self._server = server
        self._lasting = lasting
        self._leafs = Leafs(
            local=lasting.local,
            settings=lasting.config.settings,
            tokens=lasting.tokens,
            room=self._room,
        )
        self._urls: dict[int, PeerUrl] = {}
        """Being dialed."""
        self._nonces: dict[LinkId, bytes] = {}
        """Of connections whose actor is about to begin."""
        self._links = PeerLinks(server, LinkKind.LEAF)

    @override
    def on_start(self) -> None:
        self._server.plane.set_nonces(LinkKind.LEAF, on=True)
        self._set_times()
        if self._lasting.is_dialing:
            self._perform(self._leafs.start())

    @override
    def on_failure(
        self,
        exception_type: type[BaseException] | None,
        exception_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._links.abandon()

    @override
    def on_child_stopped(self, child: ActorRef[LeafLink]) -> None:
        closed = self._links.receive_stopped(child)
        if closed is not None:
            self._bury(closed)

    @override
    def on_receive(self, message: object) -> LeafsView | None:
        match message:
            case LinkEvents(events):
                for event in events:
                    self._receive_event(event)
            case LeafManager.Reported(link, report):
                self._perform(self._decide(link, report))
            case DialFailed(token, error):
                self._urls.pop(token, None)
                self._perform(self._leafs.receive_dial_failed(token, error))
            case LeafManager._WaitOver(token):
                self._perform(self._leafs.receive_timer(token))
            case LeafManager.Describe():
                return LeafsView(self._leafs)
            case _ if not self._follow(message):
                super().on_receive(message)
        return None

    def _follow(self, message: object) -> bool:
        """Do what the life of the server and its cluster asks for; return whether it is that."""
        match message:
            case LeafManager.Start():
                self._lasting.is_dialing = True
                self._perform(self._leafs.start())
            case LeafManager.Reload(config, local):
                self._lasting.config = config
                self._set_times()
                self._perform(self._leafs.receive_reload(config.settings, local))
            case LeafManager.NeighboursChanged(urls):
                self._perform(self._leafs.receive_neighbours(urls))
            case LeafManager.Stop():
                self._lasting.is_dialing = False
                self._leafs.stop()
            case _:
                return False
        return True

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

    # -- links ------------------------------------------------------------------------------------

    def _receive_event(self, event: Event) -> None:
        match event:
            case Opened():
                self._receive_opened(event)
            case Closed():
                if self._links.receive_closed(event):
                    self._bury(event)
            case Traced(link=link) if link in self._links:
                log_traced(self._links.log_of(link), event)
            case Traced():
                return
            case _ if (link := getattr(event, "link", None)) is not None:
                if link in self._links:
                    self._links.tell(link, LinkEvents((event,)))
                else:
                    # It was opened when this actor failed, and nobody leads it any further.
                    self._server.plane.close(link, ClosedState.ROUTE_REMOVED)

    def _receive_opened(self, event: Opened) -> None:
        self._links.receive_opened(event)
        self._nonces[event.link] = event.nonce
        url = self._urls.pop(event.token, None)
        connection = Connection(event.link, event.cid, event.host, event.port, url=url)
        opened = self._leafs.receive_opened(connection, event.token)
        self._perform(opened)
        self._nonces.pop(event.link, None)

    def _bury(self, event: Closed) -> None:
        log_ending(self._links.log_of(event.link), event)
        self._perform(self._leafs.receive_closed(event.link, event.detail))
        self._links.remove(event.link)

    def _decide(self, link: LinkId, report: Report) -> Sequence[LeafsEffect]:
        match report:
            case Introduce(peer):
                return self._leafs.receive_introduction(link, peer)
            case Update(info):
                return self._leafs.receive_update(link, info)
            case Delay(delay_s):
                return self._leafs.receive_delay(link, delay_s)

    # -- effects ----------------------------------------------------------------------------------

    def _perform(self, effects: Sequence[LeafsEffect]) -> None:
        for effect in effects:
            match effect:
                case Noted():
                    write_note(self._server.log, effect)
                case NotedOf(link=link):
                    write_note(self._links.log_of(link), effect)
                case Dial(token, url, timeout_s):
                    self._urls[token] = url
                    self._server.dial(url.host, url.port, LinkKind.LEAF, token, timeout_s)
                case Wait(token, delay_s, jitter_s):
                    delay_s += self.rng.uniform(0.0, jitter_s)
                    self.tell_later(delay_s, LeafManager._WaitOver(token))
                case LocalChanged(local):
                    self._lasting.local = local
                    self._server.plane.set_info(LinkKind.LEAF, build_document(local))
                case _:
                    self._perform_on_link(effect)

    def _perform_on_link(self, effect: Lead | Admit | Tell | Dismiss) -> None:
        match effect:
            case Lead(link):
                self._lead(link)
            case Admit(link):
                self._admit(link)
            case Tell(link, data):
                self._links.tell(link, LeafLink.Tell(data))
            case Dismiss(link, reason, text):
                self._links.dismiss(link, reason, text)

    def _admit(self, link: LinkId) -> None:
        its = self._leafs.connections[link]
        peer = its.peer
        assert peer is not None
        subject = self._lasting.loop_subjects.get(peer.account)
        if subject is None:
            digits = (self.rng.choice(_LOOP_DIGITS) for _ in range(_LOOP_LENGTH))
            subject = self._lasting.loop_subjects[peer.account] = f"$LDS.{''.join(digits)}"
        self._links.tell(link, LeafLink.Admitted(its.is_isolated, subject))
        self._links.report_opened(
            link,
            host=its.host,
            port=its.port,
            name=peer.name,
            version=peer.version,
            account=peer.account,
        )

    def _lead(self, link: LinkId) -> None:
        connection, config = self._leafs.connections[link], self._lasting.config
        machine = LeafHandshake(
            local=self._leafs.local,
            settings=config.settings,
            remote=connection.remote.settings if connection.remote else None,
            cid=connection.cid,
            timeout_s=config.logins.timeout_s,
        )
        actor = self.spawn(
            LeafLink,
            name=self._links.actor_name(link),
            server=self._server,
            link=link,
            local=self._leafs.local,
            logins=config.logins,
            connection=connection,
            nonce=self._nonces.get(link, b""),
            machine=machine,
            report=partial(self._take_report, link),
            log=self._links.log_of(link),
        )
        self._links.lead(link, actor)

    def _take_report(self, link: LinkId, report: Report) -> None:
        self.actor_ref.tell(LeafManager.Reported(link, report))
