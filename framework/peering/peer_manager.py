"""The actor that owns all connections of one protocol between servers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from types import TracebackType
from typing import Any

from msgspec import Struct
from typing_extensions import override

from framework.actors import ActorRef, Component
from framework.peering.effects import AcceptClaim, CheckPassword, Dismiss, Tell, Wait
from framework.peering.links import PeerLinks
from framework.peering.notes import Noted, NotedOf, write_note
from framework.peering.passwords import PasswordQueue, matches
from framework.peering.peer_link import PeerLink
from framework.spec import (
    Closed,
    ClosedState,
    DialFailed,
    ErrReceived,
    Event,
    Greeting,
    LinkEvents,
    LinkId,
    LinkKind,
    Opened,
    PongReceived,
    ServerContext,
    Traced,
    Violated,
)
from framework.spec.endings import log_ending
from framework.spec.tracing import log_traced


class PeerManager(Component):
    """Own the connections of one protocol: one child, a PeerLink, each.

    A protocol is a subclass with a machine that decides: who is known, dialed, welcome. The
    methods below hand it what has happened, and what it returns is performed: `CommonEffect` here,
    all else by the subclass.

    Args:
        server: The server whose connections these are.
        kind: Of their links.
    """

    class Reported(Struct, frozen=True):
        """Effect of a connection that it cannot perform alone."""

        link: LinkId
        report: Any

    class Start(Struct, frozen=True):
        """The server listens: dial whoever is configured."""

    class Stop(Struct, frozen=True):
        """The server is about to stop: connections that end are not missed any more."""

    class Describe(Struct, frozen=True):
        """Ask for what monitoring shows."""

    class _PasswordChecked(Struct, frozen=True):
        """Whether a password was right, or what its check has raised."""

        link: LinkId
        outcome: object

    class _WaitOver(Struct, frozen=True):
        """The time of a `Wait` has passed."""

        token: int

    def __init__(self, *, server: ServerContext, kind: LinkKind) -> None:
        super().__init__()
        self._server = server
        self._links = PeerLinks(server, kind)
        self._passwords = PasswordQueue()

    # -- what a protocol says ---------------------------------------------------------------------

    @abstractmethod
    def _receive_opened(self, event: Opened) -> Sequence[Any]:
        """Take a new connection; return effects."""

    @abstractmethod
    def _receive_dial_failed(self, event: DialFailed) -> Sequence[Any]:
        """Take that a dial came to nothing; return effects."""

    @abstractmethod
    def _receive_report(self, link: LinkId, report: Any) -> Sequence[Any]:
        """Decide about what a connection reports; return effects."""

    @abstractmethod
    def _receive_timer(self, token: int) -> Sequence[Any]:
        """Take that the time of a `Wait` has passed; return effects."""

    @abstractmethod
    def _receive_closed(self, event: Closed) -> Sequence[Any]:
        """Take that a connection has ended; return effects."""

    @abstractmethod
    def _follow(self, message: object) -> bool:
        """Do what the life of the server asks for; return whether it is that."""

    @abstractmethod
    def _describe(self) -> object:
        """Return what monitoring shows."""

    @abstractmethod
    def _perform_own(self, effect: Any) -> None:
        """Perform an effect of the protocol."""

    # -- what all have in common ------------------------------------------------------------------

    @override
    def on_failure(
        self,
        exception_type: type[BaseException] | None,
        exception_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._links.abandon()

    @override
    def on_child_stopped(self, child: ActorRef[Any]) -> None:
        closed = self._links.receive_stopped(child)
        if closed is not None:
            self._bury(closed)

    @override
    def on_receive(self, message: object) -> object:
        match message:
            case LinkEvents(events):
                for event in events:
                    self._receive_event(event)
            case PeerManager.Reported(link, CheckPassword() as check):
                self._queue_password(link, check)
            case PeerManager.Reported(link, report):
                self._perform(self._receive_report(link, report))
            case DialFailed():
                self._perform(self._receive_dial_failed(message))
            case PeerManager._WaitOver(token):
                self._perform(self._receive_timer(token))
            case PeerManager._PasswordChecked(link, outcome):
                self._take_password_checked(link, outcome)
            case PeerManager.Describe():
                return self._describe()
            case _ if not self._follow(message):
                return super().on_receive(message)
        return None

    def _receive_event(self, event: Event) -> None:
        match event:
            case Opened():
                self._links.receive_opened(event)
                self._perform(self._receive_opened(event))
            case Closed(link=link):
                self._passwords.forget(link)
                if self._links.receive_closed(event):
                    self._bury(event)
            case Greeting(link=link) if link not in self._links:
                # It was opened when this actor failed, and nobody leads it any further.
                self._server.plane.close(link, ClosedState.ROUTE_REMOVED)
            case (
                Greeting(link=link)
                | ErrReceived(link=link)
                | PongReceived(link=link)
                | Violated(link=link)
            ):
                self._links.tell(link, LinkEvents((event,)))
            case Traced(link=link) if link in self._links:
                log_traced(self._links.log_of(link), event)
            case _:
                return

    def _bury(self, event: Closed) -> None:
        log_ending(self._links.log_of(event.link), event)
        self._perform(self._receive_closed(event))
        self._links.remove(event.link)

    def _lead(self, link: LinkId, actor_class: type[PeerLink], **arguments: Any) -> None:
        """Give a connection its actor, with arguments of its protocol."""
        actor = self.spawn(
            actor_class,
            name=self._links.actor_name(link),
            server=self._server,
            link=link,
            report=partial(self._take_report, link),
            log=self._links.log_of(link),
            **arguments,
        )
        self._links.lead(link, actor)

    def _take_report(self, link: LinkId, report: object) -> None:
        self.actor_ref.tell(PeerManager.Reported(link, report))

    def _queue_password(self, link: LinkId, check: CheckPassword) -> None:
        if self._links.is_open(link):
            self._passwords.add(link, check)
            self._check_password()

    def _check_password(self) -> None:
        """Let a thread check the next password that waits, unless it checks one."""
        begun = self._passwords.begin()
        if begun is not None:
            link, check = begun
            answer = partial(PeerManager._PasswordChecked, link)
            self.run_blocking(matches, check.hashed, check.password, answer=answer)

    def _take_password_checked(self, link: LinkId, outcome: object) -> None:
        self._passwords.end()
        self._links.tell(link, PeerLink.PasswordChecked(outcome is True))
        self._check_password()

    def _perform(self, effects: Sequence[Any]) -> None:
        for effect in effects:
            match effect:
                case Noted():
                    write_note(self._server.log, effect)
                case NotedOf(link=link):
                    write_note(self._links.log_of(link), effect)
                case Wait(token, delay_s, jitter_s):
                    delay_s += self.rng.uniform(0.0, jitter_s)
                    self.tell_later(delay_s, PeerManager._WaitOver(token))
                case AcceptClaim(link):
                    self._links.tell(link, PeerLink.ClaimAccepted())
                case Tell(link, data):
                    self._links.tell(link, PeerLink.Tell(data))
                case Dismiss(link, reason, text):
                    self._links.dismiss(link, reason, text)
                case _:
                    self._perform_own(effect)
