"""The actor of one gateway connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component
from framework.spec import ClosedState, ErrReceived, Greeting, LinkEvents
from framework.wire.certificates import facts_from_der
from framework_gateway.effect import (
    ArmTimer,
    CheckPassword,
    Claim,
    Close,
    Introduce,
    Noted,
    Register,
    Resume,
    Send,
    Update,
)
from framework_gateway.introduction import peer_terms
from framework_gateway.log import write_note

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from framework.spec import Event, LinkId, ServerContext
    from framework.spec.logger import FilteringBoundLogger
    from framework.wire.certificates import CertificateFacts
    from framework_gateway.effect import LinkEffect, Report
    from framework_gateway.info import GatewayInfo
    from framework_gateway.machine import LinkMachine


class GatewayLink(Component):
    """Lead one connection through its handshake, and own its link.

    Whoever is to say something on the link tells this actor, so all of it has one order.

    Args:
        server: Whose plane holds the link.
        link: The connection.
        local: Names this server and its cluster.
        machine: Decides; new.
        report: Takes what the mesh must decide or know.
        log: Names the connection in each line.
    """

    class ClaimAccepted(Struct, frozen=True):
        """The cluster of the peer may connect."""

    class Admitted(Struct, frozen=True):
        """The connection is registered from now on."""

        local: GatewayInfo
        """How this server introduces itself at the moment."""

    class Dismissed(Struct, frozen=True):
        """The connection is not wanted."""

        reason: ClosedState
        text: str
        """What the peer is told by `-ERR`; nothing when empty."""

    class Tell(Struct, frozen=True):
        """Send protocol lines, such as INFO about another cluster."""

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
        local: GatewayInfo,
        machine: LinkMachine,
        report: Callable[[Report], None],
        log: FilteringBoundLogger,
    ) -> None:
        super().__init__()
        self._server = server
        self._plane = server.plane
        self._link = link
        self._local = local
        self._machine = machine
        self._report = report
        self._log = log

    @override
    def on_start(self) -> None:
        self._perform(self._machine.receive_opened())

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
            case GatewayLink.ClaimAccepted():
                self._perform(self._machine.receive_claim_accepted())
            case GatewayLink.Admitted(local):
                self._perform(self._machine.receive_admitted(local))
            case GatewayLink.Dismissed(reason, text):
                self._perform(self._machine.receive_dismissed(reason, text))
            case GatewayLink.Tell(data):
                self._plane.send(self._link, data)
            case GatewayLink.PasswordChecked(is_right):
                self._perform(self._machine.receive_password_checked(is_right=is_right))
            case GatewayLink._TimedOut():
                self._perform(self._machine.receive_timeout())
            case _:
                super().on_receive(message)

    def _receive_event(self, event: Event) -> None:
        match event:
            case Greeting(verb="CONNECT", document=document):
                self._perform(self._machine.receive_connect(document, self._certificate()))
            case Greeting(verb="INFO", document=document):
                self._perform(self._machine.receive_info(document))
            case ErrReceived(text=text):
                self._perform(self._machine.receive_err(text))
            case _:
                return

    def _perform(self, effects: Sequence[LinkEffect]) -> None:
        for effect in effects:
            match effect:
                case Noted():
                    write_note(self._log, effect)
                case ArmTimer(delay_s):
                    self.tell_later(delay_s, GatewayLink._TimedOut())
                case Claim() | Introduce() | Update() | CheckPassword():
                    self._report(effect)
                case Send() | Resume() | Register() | Close():
                    self._perform_on_link(effect)

    def _perform_on_link(self, effect: Send | Resume | Register | Close) -> None:
        plane, link = self._plane, self._link
        match effect:
            case Send(data):
                plane.send(link, data)
            case Resume():
                plane.resume(link)
            case Register():
                plane.register_peer(link, peer_terms(self._local, effect))
            case Close(reason, text):
                plane.close(link, reason, f"-ERR '{text}'\r\n".encode() if text else b"")

    def _certificate(self) -> CertificateFacts | None:
        """Return what the certificate of the peer says, if it has shown one."""
        peer = self._server.tls_peer(self._link)
        if peer is None or not peer.certificates:
            return None
        return facts_from_der(peer.certificates[0])
