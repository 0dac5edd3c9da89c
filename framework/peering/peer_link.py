"""The actor of one connection between servers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component
from framework.peering.compression import Choice
from framework.peering.effects import ArmTimer, Close, EncodeLink, Resume, Send
from framework.peering.handshake import Handshake
from framework.peering.notes import Noted, write_note
from framework.spec import (
    ClosedState,
    ErrReceived,
    Event,
    Greeting,
    LinkEvents,
    LinkId,
    PongReceived,
    ServerContext,
)
from framework.spec.logger import FilteringBoundLogger
from framework.wire.certificates import CertificateFacts, facts_from_der


class PeerLink(Component):
    """Lead one connection through its handshake, and own its link.

    Whoever is to say something on the link tells this actor, so all of it has one order. A protocol
    is a subclass: it performs effects of its own, and takes messages of its own.

    Args:
        server: Whose plane holds the link.
        link: The connection.
        machine: Decides; new.
        report: Takes what the mesh must decide or know.
        log: Names the connection in each line.
    """

    class ClaimAccepted(Struct, frozen=True):
        """The peer may go on."""

    class Dismissed(Struct, frozen=True):
        """The connection is not wanted."""

        reason: ClosedState
        text: str
        """What the peer is told by `-ERR`; nothing when empty."""

    class Tell(Struct, frozen=True):
        """Send protocol lines, such as INFO about another server."""

        data: bytes

    class PasswordChecked(Struct, frozen=True):
        """Whether the password of the peer was right."""

        is_right: bool

    class _TimedOut(Struct, frozen=True):
        """The handshake has had its time."""

    def __init__(
        self,
        *,
        server: ServerContext,
        link: LinkId,
        machine: Handshake[Any],
        report: Callable[[Any], None],
        log: FilteringBoundLogger,
    ) -> None:
        super().__init__()
        self._server = server
        self._plane = server.plane
        self._link = link
        self._handshake = machine
        self._report = report
        self._log = log

    @override
    def on_start(self) -> None:
        self._perform(self._handshake.receive_opened())

    @override
    def on_stop(self) -> None:
        # A link without its actor would wait for ever; one that is gone already does not mind.
        self._plane.close(self._link, ClosedState.ROUTE_REMOVED)

    @override
    def on_receive(self, message: object) -> None:
        match message:
            case LinkEvents(events):
                for event in events:
                    self._receive_event(event)
            case PeerLink.ClaimAccepted():
                self._perform(self._handshake.receive_claim_accepted())
            case PeerLink.Dismissed(reason, text):
                self._perform(self._handshake.receive_dismissed(reason, text))
            case PeerLink.Tell(data):
                self._plane.send(self._link, data)
            case PeerLink.PasswordChecked(is_right):
                self._perform(self._handshake.receive_password_checked(is_right=is_right))
            case PeerLink._TimedOut():
                self._perform(self._handshake.receive_timeout())
            case _:
                super().on_receive(message)

    def _receive_event(self, event: Event) -> None:
        match event:
            case Greeting(verb="CONNECT", document=document):
                self._perform(self._handshake.receive_connect(document, self._certificate()))
            case Greeting(verb="INFO", document=document, parked=parked):
                self._receive_info(document, is_parked=parked)
            case ErrReceived(text=text):
                self._perform(self._handshake.receive_err(text))
            case PongReceived(rtt_ns=rtt_ns):
                self._perform(self._handshake.receive_pong(rtt_ns))
            case _:
                return

    def _receive_info(self, document: bytes, *, is_parked: bool) -> None:
        is_update = self._handshake.is_registered
        self._perform(self._handshake.receive_info(document))
        if is_parked and is_update:  # see `PeerTerms.assumes_interest`
            self._plane.resume(self._link)

    def _perform(self, effects: Sequence[Any]) -> None:
        for effect in effects:
            match effect:
                case Noted():
                    write_note(self._log, effect)
                case ArmTimer(delay_s):
                    self.tell_later(delay_s, PeerLink._TimedOut())
                case Send(data):
                    self._plane.send(self._link, data)
                case Resume():
                    self._plane.resume(self._link)
                case EncodeLink(choice):
                    self._encode(choice)
                case Close(reason, text):
                    last = f"-ERR '{text}'\r\n".encode() if text else b""
                    self._plane.close(self._link, reason, last)
                case _ if not self._perform_own(effect):
                    self._report(effect)

    def _encode(self, choice: Choice) -> None:
        if choice.codec is not None:
            self._server.encode_link(self._link, choice.codec)
        elif choice.coding is not None:
            self._plane.set_coding(self._link, choice.coding)

    def _perform_own(self, effect: object) -> bool:  # noqa: ARG002
        """Perform an effect of the protocol; False: it is for the mesh."""
        return False

    def _certificate(self) -> CertificateFacts | None:
        """Return what the certificate of the peer says, if it has shown one."""
        peer = self._server.tls_peer(self._link)
        if peer is None or not peer.certificates:
            return None
        return facts_from_der(peer.certificates[0])
