"""Handshake of one connection between servers, as a machine without I/O.

    accepted:  INFO sent by the plane → CONNECT → login → claim → INFO → introduction → registered
    dialed:    INFO → introduction → registered, with what the protocol says in between

What concerns one connection alone is decided here (documents, login, time); what concerns others
too (names, duplicates, places) is asked of the mesh, and the link stays parked until it has
answered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from framework.errors import ProtocolError
from framework.peering.effects import ArmTimer, CheckPassword, Close, Resume
from framework.peering.login import Login
from framework.peering.notes import Level, Noted
from framework.wire.certificates import CertificateFacts
from framework.wire.closed_state import ClosedState

_ERR_BYTES_MAX = 256
"""Of a peer's `-ERR` that go to the log."""

Effects: TypeAlias = Sequence[Any]
"""Each a LinkEffect, or one of the protocol."""


class Connect(Protocol):
    """What every CONNECT of a server has."""

    @property
    def user(self) -> str:
        """Return who it says that it is."""
        ...

    @property
    def password(self) -> str:
        """Return what is to prove it."""
        ...


DocumentT = TypeVar("DocumentT", bound=Connect)


class Phase(Enum):
    """Where a connection is in its handshake."""

    CREATED = auto()
    CONNECT_AWAITED = auto()
    CHECKED = auto()
    """Its password is being compared with a hash; or TLS begins, behind its INFO."""
    CLAIMED = auto()
    """The mesh decides whether the peer may go on."""
    INFO_AWAITED = auto()
    INTRODUCED = auto()
    """The mesh decides whether the connection is wanted, and what for."""
    REGISTERED = auto()
    CLOSED = auto()


class HandshakeEvent(Enum):
    """What a connection is told; one `receive_` method each."""

    OPENED = auto()
    CONNECT = auto()
    PASSWORD_CHECKED = auto()
    CLAIM_ACCEPTED = auto()
    INFO = auto()
    ADMITTED = auto()
    PONG = auto()
    RELOAD = auto()
    DISMISSED = auto()
    ERR = auto()
    TIMEOUT = auto()


class Step(NamedTuple):
    """How one event is handled in one phase."""

    handle: str
    """Name of the method."""
    leads_to: tuple[Phase, ...] = (Phase.CLOSED,)
    """Besides the phase that it came in."""


Steps: TypeAlias = Mapping[HandshakeEvent, Step]


class Handshake(ABC, Generic[DocumentT]):
    """Lead one connection through its handshake: told what the peer says, it returns effects.

    A protocol is a subclass; `PHASES` is the whole of its handshake as a table.

    Args:
        login: What a connection that was accepted must prove.
        is_dialed: This server dialed.
    """

    __slots__ = ("_connect", "_is_dialed", "_login", "_phase")

    title: ClassVar[str]
    """`Route`, in lines of the log."""

    def __init__(self, *, login: Login, is_dialed: bool) -> None:
        self._login = login
        self._is_dialed = is_dialed
        self._phase = Phase.CREATED
        self._connect: DocumentT | None = None

    @property
    def is_registered(self) -> bool:
        """Tell whether the handshake is done, and the connection still there."""
        return self._phase is Phase.REGISTERED

    # -- what it is told --------------------------------------------------------------------------

    def receive_opened(self) -> Effects:
        """Begin; an accepted peer was sent our INFO by the plane."""
        return self._receive(HandshakeEvent.OPENED)

    def receive_connect(
        self, document: bytes, certificate: CertificateFacts | None = None
    ) -> Effects:
        """Check who wants to connect; the first thing an accepted peer says.

        Args:
            document: As it came.
            certificate: What the peer has shown; None: nothing.
        """
        return self._receive(HandshakeEvent.CONNECT, document, certificate)

    def receive_password_checked(self, *, is_right: bool) -> Effects:
        """Take what came of a password against its hash."""
        return self._receive(HandshakeEvent.PASSWORD_CHECKED, is_right)

    def receive_claim_accepted(self) -> Effects:
        """Go on to INFO: the mesh lets the peer in so far."""
        return self._receive(HandshakeEvent.CLAIM_ACCEPTED)

    def receive_info(self, document: bytes) -> Effects:
        """Take the peer's introduction, or what it says later."""
        return self._receive(HandshakeEvent.INFO, document)

    def receive_pong(self, rtt_ns: int) -> Effects:
        """Take an answer to PING: the peer has registered us, and this is how far it is."""
        return self._receive(HandshakeEvent.PONG, rtt_ns)

    def receive_dismissed(self, reason: ClosedState, text: str) -> Effects:
        """Close: the mesh does not want this connection."""
        return self._receive(HandshakeEvent.DISMISSED, reason, text)

    def receive_err(self, text: bytes) -> Effects:
        """Take the peer's complaint; it closes the connection, and so do we."""
        return self._receive(HandshakeEvent.ERR, text)

    def receive_timeout(self) -> Effects:
        """Close unless the handshake is done."""
        return self._receive(HandshakeEvent.TIMEOUT)

    def _receive(self, event: HandshakeEvent, *arguments: Any) -> Effects:
        """Handle an event as `PHASES` has it; what is not there for the phase is ignored."""
        phase = self._phase
        step = self.PHASES[phase].get(event)
        if step is None:
            return []
        effects: Effects = getattr(self, step.handle)(*arguments)
        assert self._phase in {phase, *step.leads_to}, (phase, event, self._phase)
        return effects

    # -- what a protocol says ---------------------------------------------------------------------

    @abstractmethod
    def _open(self) -> Effects:
        """Begin: CONNECT_AWAITED if the peer has dialed, INFO_AWAITED if we have."""

    @abstractmethod
    def _parse_connect(self, document: bytes) -> DocumentT:
        """Read CONNECT; ProtocolError: it is malformed."""

    def _refuse_stray(self, connect: DocumentT) -> Effects | None:  # noqa: ARG002
        """Say no to who is at the wrong port, before it has logged in."""
        return None

    @abstractmethod
    def _claim(self, connect: DocumentT) -> Effects:
        """Ask the mesh about who has logged in."""

    @abstractmethod
    def _take_info(self, document: bytes) -> Effects:
        """Take the peer's introduction."""

    @abstractmethod
    def _take_update(self, document: bytes) -> Effects:
        """Take what a registered peer says later."""

    # -- what all have in common ------------------------------------------------------------------

    def _take_connect(self, document: bytes, certificate: CertificateFacts | None) -> Effects:
        try:
            connect = self._parse_connect(document)
        except ProtocolError as error:
            return self._close_malformed("CONNECT", error)
        refusal = self._refuse_stray(connect)
        if refusal is not None:
            return refusal
        self._connect = connect
        return self._check(connect, certificate)

    def _check(self, connect: DocumentT, certificate: CertificateFacts | None) -> Effects:
        """Find out whether a server proves what it must."""
        login = self._login
        if login.goes_by_certificate:
            return self._go_on(is_admitted=login.admits_certificate(certificate))
        if not login.is_hashed:
            return self._go_on(is_admitted=login.admits(connect.user, connect.password))
        if not login.admits(connect.user, login.password):
            return self._go_on(is_admitted=False)  # who does not know the user costs no check
        self._phase = Phase.CHECKED
        return [CheckPassword(login.password, connect.password)]

    def _go_on(self, is_admitted: bool) -> Effects:  # noqa: FBT001
        connect, self._connect = self._connect, None
        assert connect is not None
        if not is_admitted:
            return [
                Noted(Level.ERROR, "authentication error"),
                *self._close(ClosedState.AUTHENTICATION_VIOLATION, "Authorization Violation"),
            ]
        self._phase = Phase.CLAIMED
        return self._claim(connect)

    def _refuse_connect(self, *_: object) -> Effects:
        return self._close(ClosedState.PROTOCOL_VIOLATION, "Unexpected CONNECT")

    def _take_claim_accepted(self) -> Effects:
        self._phase = Phase.INFO_AWAITED
        return [Resume()]

    def _refuse_info_before_login(self, _document: bytes) -> Effects:
        return self._close(ClosedState.AUTHENTICATION_VIOLATION, "Authorization Violation")

    def _refuse_info(self, _document: bytes) -> Effects:
        return self._close(ClosedState.PROTOCOL_VIOLATION, "Unexpected INFO")

    def _take_err(self, text: bytes) -> Effects:
        return self._close_complaining(text, Level.ERROR)

    def _close_complaining(self, text: bytes, level: Level) -> Effects:
        event = f"{self.title} Error '{{detail}}'"
        noted = Noted(level, event, {"detail": text[:_ERR_BYTES_MAX]})
        return [noted, *self._close(ClosedState.PARSE_ERROR)]

    def _time_out(self) -> Effects:
        if self._is_dialed:
            return self._close(ClosedState.STALE_CONNECTION, "Stale Connection")
        return self._close(ClosedState.AUTHENTICATION_TIMEOUT, "Authentication Timeout")

    def _close(self, reason: ClosedState, text: str = "", *, level: Level | None = None) -> Effects:
        self._phase = Phase.CLOSED
        noted = [] if level is None else [Noted(level, text)]
        return [*noted, Close(reason, text)]

    def _close_malformed(self, verb: str, error: ProtocolError) -> Effects:
        noted = Noted(Level.ERROR, f"Invalid {verb}: {{detail}}", {"detail": str(error)})
        return [noted, *self._close(error.reason, error.text)]

    def _await_connect(self) -> ArmTimer:
        """Wait for who has dialed to log in."""
        self._phase = Phase.CONNECT_AWAITED
        return ArmTimer(self._login.timeout_s)

    _ALWAYS: ClassVar[Steps] = {
        HandshakeEvent.CONNECT: Step("_refuse_connect"),
        HandshakeEvent.DISMISSED: Step("_close"),
        HandshakeEvent.ERR: Step("_take_err"),
    }
    _PENDING: ClassVar[Steps] = {
        **_ALWAYS,
        HandshakeEvent.INFO: Step("_refuse_info"),
        HandshakeEvent.TIMEOUT: Step("_time_out"),
    }
    PHASES: ClassVar[Mapping[Phase, Steps]] = {
        Phase.CREATED: {
            **_PENDING,
            HandshakeEvent.OPENED: Step(
                "_open", leads_to=(Phase.CONNECT_AWAITED, Phase.INFO_AWAITED)
            ),
        },
        Phase.CONNECT_AWAITED: {
            **_PENDING,
            HandshakeEvent.CONNECT: Step(
                "_take_connect", leads_to=(Phase.CHECKED, Phase.CLAIMED, Phase.CLOSED)
            ),
            HandshakeEvent.INFO: Step("_refuse_info_before_login"),
        },
        Phase.CHECKED: {
            **_PENDING,
            HandshakeEvent.PASSWORD_CHECKED: Step("_go_on", leads_to=(Phase.CLAIMED, Phase.CLOSED)),
        },
        Phase.CLAIMED: {
            **_PENDING,
            HandshakeEvent.CLAIM_ACCEPTED: Step(
                "_take_claim_accepted", leads_to=(Phase.INFO_AWAITED,)
            ),
        },
        Phase.INFO_AWAITED: {
            **_PENDING,
            HandshakeEvent.INFO: Step("_take_info", leads_to=(Phase.INTRODUCED, Phase.CLOSED)),
        },
        Phase.INTRODUCED: {
            **_PENDING,
            HandshakeEvent.ADMITTED: Step("_take_admitted", leads_to=(Phase.REGISTERED,)),
        },
        Phase.REGISTERED: {
            **_ALWAYS,
            HandshakeEvent.INFO: Step("_take_update"),
        },
        Phase.CLOSED: {},
    }
    """The handshake: what may come in each phase, how it is handled, and where it may lead.

    An event that is not there is ignored: it crossed one that has ended the phase. A subclass has
    `_take_admitted`, with what it is told by its mesh.
    """
