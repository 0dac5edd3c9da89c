"""The actor of one route connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component
from framework.spec import ClosedState, ErrReceived, Greeting, LinkEvents, PeerTerms, PongReceived
from framework.wire.certificates import facts_from_der
from framework_route.effect import (
    Answered,
    ArmTimer,
    CheckPassword,
    Claim,
    Close,
    Compressed,
    Encode,
    Introduce,
    Noted,
    Outdated,
    Register,
    Resume,
    Send,
    Update,
)
from framework_route.log import write_note

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.spec import Event, LinkId, ServerContext
    from framework.wire.certificates import CertificateFacts
    from framework.wire.info import RouteInfo
    from framework_route.compression import Choice, Compression
    from framework_route.effect import ConnectionEffect, PoolSlot, Report
    from framework_route.machine import ConnectionMachine


class PoolConnection(Component):
    """Lead one connection through its handshake, and own its link.

    Whoever is to say something on the link tells this actor, so all of it has one order.

    Args:
        server: Whose plane holds the link.
        link: The connection.
        machine: Decides; new.
        report: Takes what the mesh must decide or know.
        permissions: Returns the number of the table that says at the moment which subjects cross
            routes; 0: all.
        log: Names the connection in each line.
    """

    class ClaimAccepted(Struct, frozen=True):
        """The peer belongs to this cluster."""

    class Admitted(Struct, frozen=True):
        """The connection is a route from now on."""

        pool_slot: PoolSlot
        local: RouteInfo
        """How this server introduces itself at the moment."""

    class Dismissed(Struct, frozen=True):
        """The connection has no slot."""

        reason: ClosedState
        text: str
        """What the peer is told by `-ERR`; nothing when empty."""

    class Tell(Struct, frozen=True):
        """Send protocol lines, such as INFO about another server."""

        data: bytes

    class Reloaded(Struct, frozen=True):
        """The server wants another compression from now on."""

        compression: Compression

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
        machine: ConnectionMachine,
        report: Callable[[Report], None],
        permissions: Callable[[], int],
        log: FilteringBoundLogger,
    ) -> None:
        super().__init__()
        self._server = server
        self._plane = server.plane
        self._link = link
        self._machine = machine
        self._report = report
        self._log = log
        self._permissions = permissions

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
            case PoolConnection.ClaimAccepted():
                self._perform(self._machine.receive_claim_accepted())
            case PoolConnection.Admitted(pool_slot, local):
                self._perform(self._machine.receive_admitted(pool_slot, local))
            case PoolConnection.Dismissed(reason, text):
                self._perform(self._machine.receive_dismissed(reason, text))
            case PoolConnection.Reloaded(compression):
                self._perform(self._machine.receive_reload(compression))
            case PoolConnection.Tell(data):
                self._plane.send(self._link, data)
            case PoolConnection.PasswordChecked(is_right):
                self._perform(self._machine.receive_password_checked(is_right=is_right))
            case PoolConnection._TimedOut():
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
            case PongReceived(rtt_ns=rtt_ns):
                self._perform(self._machine.receive_pong(rtt_ns))
            case _:
                return

    def _perform(self, effects: Sequence[ConnectionEffect]) -> None:
        for effect in effects:
            match effect:
                case Noted():
                    write_note(self._log, effect)
                case ArmTimer(delay_s):
                    self.tell_later(delay_s, PoolConnection._TimedOut())
                case Claim() | Introduce() | Update() | Answered() | Compressed() | Outdated():
                    self._report(effect)
                case CheckPassword():
                    self._report(effect)
                case _:
                    self._perform_on_link(effect)

    def _perform_on_link(self, effect: Send | Resume | Encode | Register | Close) -> None:
        plane, link = self._plane, self._link
        match effect:
            case Send(data):
                plane.send(link, data)
            case Resume():
                plane.resume(link)
            case Encode(choice):
                self._encode(choice)
            case Register():
                self._register(effect)
            case Close(reason, text):
                plane.close(link, reason, f"-ERR '{text}'\r\n".encode() if text else b"")

    def _certificate(self) -> CertificateFacts | None:
        """Return what the certificate of the peer says, if it has shown one."""
        peer = self._server.tls_peer(self._link)
        if peer is None or not peer.certificates:
            return None
        return facts_from_der(peer.certificates[0])

    def _encode(self, choice: Choice) -> None:
        if choice.codec is not None:
            self._server.encode_link(self._link, choice.codec)
        elif choice.coding is not None:
            self._plane.set_coding(self._link, choice.coding)

    def _register(self, effect: Register) -> None:
        pool_slot = effect.pool_slot
        accounts = None
        if pool_slot.account:
            try:
                accounts = [self._server.accounts.index(pool_slot.account)]
            except KeyError:  # it was removed while the two introduced themselves
                self._plane.close(self._link, ClosedState.MISSING_ACCOUNT)
                return
        elif pool_slot.is_spare:
            accounts = []
        terms = PeerTerms(
            peer=pool_slot.peer,
            accounts=accounts,
            pool_index=0 if accounts is not None else pool_slot.pool_index,
            pool_size=0 if accounts is not None else pool_slot.assigned_size,
            account_omitted=bool(accounts),
            headers=effect.headers,
            traces=effect.traces,
            permissions=self._permissions(),
        )
        self._plane.register_peer(self._link, terms)
