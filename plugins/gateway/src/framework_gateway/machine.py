"""Handshake of one gateway connection, as a machine without I/O.

    inbound:   INFO sent by the plane → CONNECT → claim → INFO → introduction → registered
    outbound:  INFO → introduction → CONNECT and our INFO → registered

Who dialed sends messages, who was dialed tells its interest: see `Register`. `LinkMachine.PHASES`
is the whole of it as a table. What concerns this connection alone is decided here (documents,
login, the name of the cluster that was dialed); what concerns others too (unknown clusters,
duplicates) is asked of the mesh, and the link stays parked until it has answered.

Source: nats-server `gateway.go`, `createGateway`, `processGatewayConnect`, `processGatewayInfo`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from framework.errors import ProtocolError
from framework.wire.closed_state import ClosedState
from framework_gateway.effect import (
    ArmTimer,
    CheckPassword,
    Claim,
    Close,
    Introduce,
    Level,
    Noted,
    Register,
    Resume,
    Send,
    Update,
)
from framework_gateway.info import GOSSIP, TRACE_PROTOCOL, greeting, parse_connect, parse_info
from framework_gateway.limits import INFO_TIMEOUT_S

if TYPE_CHECKING:
    from framework.wire.certificates import CertificateFacts
    from framework_gateway.effect import LinkEffect
    from framework_gateway.info import GatewayConnect, GatewayInfo
    from framework_gateway.login import Login
    from framework_gateway.url import GatewayUrl

_ERR_BYTES_MAX = 256
"""Of a peer's `-ERR` that go to the log."""


class Phase(Enum):
    """Where a connection is in its handshake."""

    CREATED = auto()
    CONNECT_AWAITED = auto()
    CHECKED = auto()
    """Its password is being compared with a hash."""
    CLAIMED = auto()
    """The mesh decides whether its cluster may connect."""
    INFO_AWAITED = auto()
    INTRODUCED = auto()
    """The mesh decides whether it is wanted."""
    REGISTERED = auto()
    CLOSED = auto()


class Event(Enum):
    """What a connection is told; one `receive_` method each."""

    OPENED = auto()
    CONNECT = auto()
    PASSWORD_CHECKED = auto()
    CLAIM_ACCEPTED = auto()
    INFO = auto()
    ADMITTED = auto()
    DISMISSED = auto()
    ERR = auto()
    TIMEOUT = auto()


class Step(NamedTuple):
    """How one event is handled in one phase."""

    handle: Callable[..., Sequence[LinkEffect]]
    leads_to: tuple[Phase, ...] = (Phase.CLOSED,)
    """Besides the phase that it came in."""


Steps: TypeAlias = Mapping[Event, Step]


class LinkMachine:
    """Lead one connection through its handshake: told what the peer says, it returns effects.

    Args:
        local: How this server introduces itself.
        login: What a connection that we accepted must prove.
        gateway: The cluster that we dialed; empty: the peer dialed us.
        url: Where we dialed to, with the login to use there; None: the peer dialed us.
    """

    __slots__ = ("_connect", "_gateway", "_local", "_login", "_phase", "_remote", "_url")

    def __init__(
        self, *, local: GatewayInfo, login: Login, gateway: str, url: GatewayUrl | None
    ) -> None:
        assert bool(gateway) == (url is not None)
        self._local = local
        self._login = login
        self._gateway = gateway
        self._url = url
        self._phase = Phase.CREATED
        self._remote: GatewayInfo | None = None
        self._connect: GatewayConnect | None = None

    def receive_opened(self) -> Sequence[LinkEffect]:
        """Begin; an accepted peer was sent our INFO by the plane."""
        return self._receive(Event.OPENED)

    def receive_connect(
        self, document: bytes, certificate: CertificateFacts | None = None
    ) -> Sequence[LinkEffect]:
        """Check who wants to connect; the first thing an accepted peer says.

        Args:
            document: As it came.
            certificate: What the peer has shown; None: nothing.
        """
        return self._receive(Event.CONNECT, document, certificate)

    def receive_password_checked(self, *, is_right: bool) -> Sequence[LinkEffect]:
        """Take what came of a password against its hash."""
        return self._receive(Event.PASSWORD_CHECKED, is_right)

    def receive_claim_accepted(self) -> Sequence[LinkEffect]:
        """Go on to INFO: the cluster of the peer may connect."""
        return self._receive(Event.CLAIM_ACCEPTED)

    def receive_info(self, document: bytes) -> Sequence[LinkEffect]:
        """Take the peer's introduction, or what it says later."""
        return self._receive(Event.INFO, document)

    def receive_admitted(self, local: GatewayInfo) -> Sequence[LinkEffect]:
        """Register: the mesh wants this connection.

        Args:
            local: How this server introduces itself at the moment.
        """
        return self._receive(Event.ADMITTED, local)

    def receive_dismissed(self, reason: ClosedState, text: str) -> Sequence[LinkEffect]:
        """Close: the mesh does not want this connection."""
        return self._receive(Event.DISMISSED, reason, text)

    def receive_err(self, text: bytes) -> Sequence[LinkEffect]:
        """Take the peer's complaint; it closes the connection, and so do we."""
        return self._receive(Event.ERR, text)

    def receive_timeout(self) -> Sequence[LinkEffect]:
        """Close unless the handshake is done."""
        return self._receive(Event.TIMEOUT)

    def _receive(self, event: Event, *arguments: Any) -> Sequence[LinkEffect]:
        """Handle an event as `PHASES` has it; what is not there for the phase is ignored."""
        phase = self._phase
        step = self.PHASES[phase].get(event)
        if step is None:
            return []
        effects = step.handle(self, *arguments)
        assert self._phase in {phase, *step.leads_to}, (phase, event, self._phase)
        return effects

    def _open(self) -> Sequence[LinkEffect]:
        if self._url is None:
            self._phase = Phase.CONNECT_AWAITED
            noted = Noted(Level.INFO, "Processing inbound gateway connection")
            return [noted, ArmTimer(self._login.timeout_s)]
        self._phase = Phase.INFO_AWAITED
        created = 'Creating outbound gateway connection to "{gateway}"'
        return [Noted(Level.INFO, created, {"gateway": self._gateway}), ArmTimer(INFO_TIMEOUT_S)]

    # -- CONNECT ----------------------------------------------------------------------------------

    def _take_connect(
        self, document: bytes, certificate: CertificateFacts | None
    ) -> Sequence[LinkEffect]:
        try:
            connect = parse_connect(document)
        except ProtocolError as error:
            return self._close_malformed("CONNECT", error)
        self._connect = connect
        login = self._login
        if login.goes_by_certificate:
            return self._go_on(is_admitted=login.admits_certificate(certificate))
        if not login.is_hashed:
            return self._go_on(is_admitted=login.admits(connect.user, connect.password))
        if not login.admits(connect.user, login.password):
            return self._go_on(is_admitted=False)  # who does not know the user costs no check
        self._phase = Phase.CHECKED
        return [CheckPassword(login.password, connect.password)]

    def _take_password_checked(self, is_right: bool) -> Sequence[LinkEffect]:  # noqa: FBT001
        return self._go_on(is_admitted=is_right)

    def _go_on(self, *, is_admitted: bool) -> Sequence[LinkEffect]:
        connect, self._connect = self._connect, None
        assert connect is not None
        if not is_admitted:
            return [
                Noted(Level.ERROR, "authentication error"),
                *self._close(ClosedState.AUTHENTICATION_VIOLATION, "Authorization Violation"),
            ]
        if not connect.gateway:
            words = "attempted to connect to gateway port"
            return self._close(ClosedState.WRONG_PORT, words, level=Level.ERROR)
        self._phase = Phase.CLAIMED
        return [Claim(connect.gateway)]

    def _refuse_connect(self, *_: object) -> Sequence[LinkEffect]:
        return self._close(ClosedState.PROTOCOL_VIOLATION, "Unexpected CONNECT")

    def _take_claim_accepted(self) -> Sequence[LinkEffect]:
        self._phase = Phase.INFO_AWAITED
        return [Resume()]

    # -- INFO -------------------------------------------------------------------------------------

    def _refuse_info_before_login(self, _document: bytes) -> Sequence[LinkEffect]:
        return self._close(ClosedState.AUTHENTICATION_VIOLATION, "Authorization Violation")

    def _refuse_info(self, _document: bytes) -> Sequence[LinkEffect]:
        return self._close(ClosedState.PROTOCOL_VIOLATION, "Unexpected INFO")

    def _take_info(self, document: bytes) -> Sequence[LinkEffect]:
        try:
            info = parse_info(document)
        except ProtocolError as error:
            return self._close_malformed("INFO", error)
        refusal = self._refuse_other(info) if self._url is not None else None
        if refusal is not None:
            return refusal
        self._phase = Phase.INTRODUCED
        self._remote = info
        return [Introduce(info)]

    def _refuse_other(self, info: GatewayInfo) -> Sequence[LinkEffect] | None:
        """Say no to who is not of the cluster that was dialed."""
        if not info.gateway:
            words = f'Attempt to connect to gateway "{self._gateway}" using wrong port'
            return self._close(ClosedState.WRONG_PORT, words, level=Level.ERROR)
        if info.gateway == self._gateway:
            return None
        failing = 'Failing connection to gateway "{gateway}", remote gateway name is "{remote}"'
        fields = {"gateway": self._gateway, "remote": info.gateway}
        words = (
            f'Connection from "{self._local.gateway}" rejected, wanted to connect to'
            f' "{self._gateway}", this is "{info.gateway}"'
        )
        noted = Noted(Level.ERROR, failing, fields)
        return [noted, *self._close(ClosedState.WRONG_GATEWAY, words)]

    def _take_admitted(self, local: GatewayInfo) -> Sequence[LinkEffect]:
        assert self._remote is not None
        remote, self._phase = self._remote, Phase.REGISTERED
        register = Register(
            is_outbound=self._url is not None,
            headers=local.headers and remote.headers,
            traces=remote.proto >= TRACE_PROTOCOL,
        )
        fields = {"gateway": remote.gateway, "remote_id": remote.server_id}
        if self._url is None:
            registered = 'Inbound gateway connection from "{gateway}" ({remote_id}) registered'
            return [register, Noted(Level.INFO, registered, fields)]
        sent = 'Gateway connect protocol sent to "{gateway}"'
        registered = 'Outbound gateway connection to "{gateway}" ({remote_id}) registered'
        return [
            Send(greeting(local, self._url)),
            Noted(Level.DEBUG, sent, {"gateway": remote.gateway}),
            register,
            Noted(Level.INFO, registered, fields),
        ]

    def _take_update(self, document: bytes) -> Sequence[LinkEffect]:
        try:
            info = parse_info(document)
        except ProtocolError as error:
            return self._close_malformed("INFO", error)
        if self._url is None:
            return []
        refusal = None if info.gateway_cmd == GOSSIP else self._refuse_other(info)
        return [Update(info)] if refusal is None else refusal

    # -- ends -------------------------------------------------------------------------------------

    def _take_err(self, text: bytes) -> Sequence[LinkEffect]:
        noted = Noted(Level.ERROR, "Gateway Error '{detail}'", {"detail": text[:_ERR_BYTES_MAX]})
        return [noted, *self._close(ClosedState.PARSE_ERROR)]

    def _time_out(self) -> Sequence[LinkEffect]:
        if self._url is not None:
            return self._close(ClosedState.STALE_CONNECTION, "Stale Connection")
        return self._close(ClosedState.AUTHENTICATION_TIMEOUT, "Authentication Timeout")

    def _close(
        self, reason: ClosedState, text: str = "", *, level: Level | None = None
    ) -> Sequence[LinkEffect]:
        self._phase = Phase.CLOSED
        noted = [] if level is None else [Noted(level, text)]
        return [*noted, Close(reason, text)]

    def _close_malformed(self, verb: str, error: ProtocolError) -> Sequence[LinkEffect]:
        noted = Noted(Level.ERROR, f"Invalid {verb}: {{detail}}", {"detail": str(error)})
        return [noted, *self._close(error.reason, error.text)]

    _ALWAYS: ClassVar[Steps] = {
        Event.DISMISSED: Step(_close),
        Event.ERR: Step(_take_err),
        Event.CONNECT: Step(_refuse_connect),
    }
    _PENDING: ClassVar[Steps] = {
        **_ALWAYS,
        Event.INFO: Step(_refuse_info),
        Event.TIMEOUT: Step(_time_out),
    }
    PHASES: ClassVar[Mapping[Phase, Steps]] = {
        Phase.CREATED: {
            **_PENDING,
            Event.OPENED: Step(_open, leads_to=(Phase.CONNECT_AWAITED, Phase.INFO_AWAITED)),
        },
        Phase.CONNECT_AWAITED: {
            **_PENDING,
            Event.CONNECT: Step(
                _take_connect, leads_to=(Phase.CHECKED, Phase.CLAIMED, Phase.CLOSED)
            ),
            Event.INFO: Step(_refuse_info_before_login),
        },
        Phase.CHECKED: {
            **_PENDING,
            Event.PASSWORD_CHECKED: Step(
                _take_password_checked, leads_to=(Phase.CLAIMED, Phase.CLOSED)
            ),
        },
        Phase.CLAIMED: {
            **_PENDING,
            Event.CLAIM_ACCEPTED: Step(_take_claim_accepted, leads_to=(Phase.INFO_AWAITED,)),
        },
        Phase.INFO_AWAITED: {
            **_PENDING,
            Event.INFO: Step(_take_info, leads_to=(Phase.INTRODUCED, Phase.CLOSED)),
        },
        Phase.INTRODUCED: {
            **_PENDING,
            Event.ADMITTED: Step(_take_admitted, leads_to=(Phase.REGISTERED,)),
        },
        Phase.REGISTERED: {
            **_ALWAYS,
            Event.INFO: Step(_take_update),
        },
        Phase.CLOSED: {},
    }
    """The handshake: what may come in each phase, how it is handled, and where it may lead.

    An event that is not there is ignored: it crossed one that has ended the phase.
    """
