"""Handshake of one route connection, as a machine without I/O.

    accepted:   INFO sent by the plane → CONNECT → claim → INFO → introduction → route
    solicited:  CONNECT sent → INFO → introduction → our INFO, with our place in the pool → route

`ConnectionMachine.PHASES` is the whole of it as a table: what may come in each phase, who handles
it, and where it may lead. Where the two want compression, each says INFO once more in between: the
solicitor a plain one that names the mode, the acceptor a compressed one.

What concerns this connection alone is decided here (documents, login, time); what concerns other
connections too (cluster name, duplicates, gossip) is asked of the mesh, and the link stays parked
until it has answered. Afterwards only INFO is left, which is passed on.

Source: nats-server `route.go`, `createRoute`, `processRouteConnect`, `processRouteInfo`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from framework.errors import ProtocolError
from framework.wire.closed_state import ClosedState
from framework_route.effect import (
    Answered,
    ArmTimer,
    CheckPassword,
    Claim,
    Close,
    Compressed,
    Encode,
    Introduce,
    Level,
    Noted,
    Outdated,
    Register,
    Resume,
    Send,
    Update,
)
from framework_route.info import (
    TRACE_PROTOCOL,
    greeting,
    introduction,
    parse_connect,
    parse_info,
)

if TYPE_CHECKING:
    from framework.wire.certificates import CertificateFacts
    from framework.wire.info import RouteConnect, RouteInfo
    from framework_route.compression import Choice, Compression
    from framework_route.effect import ConnectionEffect, PoolSlot
    from framework_route.login import Login
    from framework_route.url import RouteUrl

_ERR_BYTES_MAX = 256
"""Of a peer's `-ERR` that go to the log."""

_EXPECTED_ERR = b"Not possible to have a dedicated route for account"
"""nats-server tries one for its system account, and learns from our INFO that there is one route
for all of them: nothing that an operator should look at.

Source: nats-server `route.go`, `processRouteInfo`.
"""


class Phase(Enum):
    """Where a connection is in its handshake."""

    CREATED = auto()
    CONNECT_AWAITED = auto()
    CHECKED = auto()
    """Its password is being compared with a hash."""
    CLAIMED = auto()
    """The mesh decides whether it belongs to this cluster."""
    INFO_AWAITED = auto()
    INTRODUCED = auto()
    """The mesh decides on its pool slot."""
    REGISTERED = auto()
    """It is a route."""
    CLOSED = auto()


class Event(Enum):
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

    handle: Callable[..., Sequence[ConnectionEffect]]
    leads_to: tuple[Phase, ...] = (Phase.CLOSED,)
    """Besides the phase that it came in."""


Steps: TypeAlias = Mapping[Event, Step]


class ConnectionMachine:
    """Lead one connection through its handshake: told what the peer says, it returns effects.

    Args:
        local: How this server introduces itself.
        login: What a connection that we accepted must prove.
        compression: What this server wants.
        url: Where we dialed to; None for a connection that we accepted.
        account: The only one that the connection is to carry, when we dialed.
    """

    __slots__ = (
        "_account",
        "_choice",
        "_compression",
        "_connect",
        "_headers",
        "_local",
        "_login",
        "_phase",
        "_remote",
        "_rtt_ns",
        "_url",
        "_wanted",
    )

    def __init__(
        self,
        *,
        local: RouteInfo,
        login: Login,
        compression: Compression,
        url: RouteUrl | None,
        account: str = "",
    ) -> None:
        self._local = local
        self._login = login
        self._compression = compression
        self._url = url
        self._account = account
        self._phase = Phase.CREATED
        self._headers = local.headers
        self._remote: RouteInfo | None = None
        self._choice: Choice | None = None
        self._wanted: Compression | None = None
        self._rtt_ns = 0
        self._connect: RouteConnect | None = None

    def receive_opened(self) -> Sequence[ConnectionEffect]:
        """Begin; an accepted peer was sent our INFO by the plane."""
        return self._receive(Event.OPENED)

    def receive_connect(
        self, document: bytes, certificate: CertificateFacts | None = None
    ) -> Sequence[ConnectionEffect]:
        """Check who wants to connect; the first thing an accepted peer says.

        Args:
            document: As it came.
            certificate: What the peer has shown; None: nothing.
        """
        return self._receive(Event.CONNECT, document, certificate)

    def receive_password_checked(self, *, is_right: bool) -> Sequence[ConnectionEffect]:
        """Take what came of a password against its hash."""
        return self._receive(Event.PASSWORD_CHECKED, is_right)

    def receive_claim_accepted(self) -> Sequence[ConnectionEffect]:
        """Go on to INFO: the mesh knows the peer's cluster as ours."""
        return self._receive(Event.CLAIM_ACCEPTED)

    def receive_info(self, document: bytes) -> Sequence[ConnectionEffect]:
        """Take the peer's introduction, or what a registered route says later."""
        return self._receive(Event.INFO, document)

    def receive_admitted(self, pool_slot: PoolSlot, local: RouteInfo) -> Sequence[ConnectionEffect]:
        """Become a route: the mesh has given this connection a place at its server.

        Args:
            pool_slot: Of the connection.
            local: How this server introduces itself at the moment.
        """
        return self._receive(Event.ADMITTED, pool_slot, local)

    def receive_pong(self, rtt_ns: int) -> Sequence[ConnectionEffect]:
        """Take an answer to PING: the peer has us as a route, and this is how far it is."""
        return self._receive(Event.PONG, rtt_ns)

    def receive_reload(self, compression: Compression) -> Sequence[ConnectionEffect]:
        """Follow what this server wants from now on, in place if the peer need not agree."""
        return self._receive(Event.RELOAD, compression)

    def receive_dismissed(self, reason: ClosedState, text: str) -> Sequence[ConnectionEffect]:
        """Close: the mesh has no place for this connection."""
        return self._receive(Event.DISMISSED, reason, text)

    def receive_err(self, text: bytes) -> Sequence[ConnectionEffect]:
        """Take the peer's complaint; it closes the connection, and so do we."""
        return self._receive(Event.ERR, text)

    def receive_timeout(self) -> Sequence[ConnectionEffect]:
        """Close unless the handshake is done."""
        return self._receive(Event.TIMEOUT)

    def _receive(self, event: Event, *arguments: Any) -> Sequence[ConnectionEffect]:
        """Handle an event as `PHASES` has it; what is not there for the phase is ignored."""
        phase = self._phase
        step = self.PHASES[phase].get(event)
        if step is None:
            return []
        effects = step.handle(self, *arguments)
        assert self._phase in {phase, *step.leads_to}, (phase, event, self._phase)
        return effects

    def _open(self) -> Sequence[ConnectionEffect]:
        created = Noted(Level.INFO, "Route connection created")
        timer = ArmTimer(self._login.timeout_s)
        if self._url is None:
            self._phase = Phase.CONNECT_AWAITED
            return [created, timer]
        self._phase = Phase.INFO_AWAITED
        sent = Noted(Level.DEBUG, "Route connect msg sent")
        return [Send(greeting(self._local, self._url)), sent, created, timer]

    def _take_connect(
        self, document: bytes, certificate: CertificateFacts | None
    ) -> Sequence[ConnectionEffect]:
        try:
            connect = parse_connect(document)
        except ProtocolError as error:
            return self._close_malformed("CONNECT", error)
        refusal = self._refuse_stray(connect)
        if refusal is not None:
            return refusal
        self._connect = connect
        return self._check(connect, certificate)

    def _refuse_connect(self, *_: object) -> Sequence[ConnectionEffect]:
        return self._close(ClosedState.PROTOCOL_VIOLATION, "Unexpected CONNECT")

    def _check(
        self, connect: RouteConnect, certificate: CertificateFacts | None
    ) -> Sequence[ConnectionEffect]:
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

    def _take_password_checked(self, is_right: bool) -> Sequence[ConnectionEffect]:  # noqa: FBT001
        return self._go_on(is_admitted=is_right)

    def _go_on(self, *, is_admitted: bool) -> Sequence[ConnectionEffect]:
        connect, self._connect = self._connect, None
        assert connect is not None
        if not is_admitted:
            return [
                Noted(Level.ERROR, "authentication error"),
                *self._close(ClosedState.AUTHENTICATION_VIOLATION, "Authorization Violation"),
            ]
        self._phase = Phase.CLAIMED
        self._headers = self._headers and connect.headers
        return [Claim(connect.name, connect.cluster, connect.cluster_dynamic)]

    def _refuse_stray(self, connect: RouteConnect) -> Sequence[ConnectionEffect] | None:
        """Say no to who is no server of a cluster."""
        if connect.lang:
            words = "attempted to connect to route port"
            return self._close(ClosedState.WRONG_PORT, words, level=Level.ERROR)
        if connect.gateway:
            event = 'Rejecting connection from gateway "{name}" on the Route port'
            fields = {"name": connect.gateway}
            noted = Noted(Level.ERROR, event, fields)
            return [noted, *self._close(ClosedState.WRONG_GATEWAY, event.format(**fields))]
        return None

    def _take_claim_accepted(self) -> Sequence[ConnectionEffect]:
        self._phase = Phase.INFO_AWAITED
        return [Resume()]

    def _refuse_info_before_login(self, _document: bytes) -> Sequence[ConnectionEffect]:
        return self._close(ClosedState.AUTHENTICATION_VIOLATION, "Authorization Violation")

    def _refuse_info(self, _document: bytes) -> Sequence[ConnectionEffect]:
        return self._close(ClosedState.PROTOCOL_VIOLATION, "Unexpected INFO")

    def _take_update(self, document: bytes) -> Sequence[ConnectionEffect]:
        try:
            return [Update(parse_info(document))]
        except ProtocolError as error:
            return self._close_malformed("INFO", error)

    def _take_info(self, document: bytes) -> Sequence[ConnectionEffect]:
        try:
            info = parse_info(document)
        except ProtocolError as error:
            return self._close_malformed("INFO", error)
        if info.client_id or info.gateway:
            port = "client" if info.client_id else "gateway"
            noted = Noted(Level.ERROR, f"attempted to connect to {port} port")
            return [noted, *self._close(ClosedState.WRONG_PORT)]
        if self._choice is None:
            try:
                self._choice = self._compression.choose(info, is_dialed=self._url is not None)
            except ProtocolError as error:
                return self._close_malformed("INFO", error)
            if self._choice.is_coded:
                return self._negotiate(self._choice)
        self._phase = Phase.INTRODUCED
        self._remote = info
        return [Compressed(self._choice.shown), Introduce(info)]

    def _negotiate(self, choice: Choice) -> Sequence[ConnectionEffect]:
        """Begin to compress: behind our INFO if we dialed, before it if we accepted."""
        told = Send(introduction(self._local, choice, account=self._account))
        if self._url is None:
            return [Encode(choice), told, Resume()]
        return [told, Encode(choice), Resume()]

    def _take_admitted(self, pool_slot: PoolSlot, local: RouteInfo) -> Sequence[ConnectionEffect]:
        assert self._remote is not None
        assert self._choice is not None
        self._phase = Phase.REGISTERED
        event, fields = (
            'Registering remote route "{remote_id}"',
            {"remote_id": self._remote.server_id},
        )
        if pool_slot.account:
            event += ' for account "{account}"'
            fields["account"] = pool_slot.account
        effects: list[ConnectionEffect] = [Noted(Level.DEBUG, event, fields)]
        if self._url is not None:
            line = introduction(
                local,
                self._choice,
                pool_index=pool_slot.pool_index,
                pool_size=pool_slot.assigned_size if self._remote.pool_shared else 0,
                account=pool_slot.account,
            )
            effects.append(Send(line))
        traces = self._remote.proto >= TRACE_PROTOCOL
        return [
            *effects,
            Register(pool_slot, self._headers and self._remote.headers, traces),
            Noted(Level.DEBUG, "Sent local subscriptions to route"),
            *(self._take_reload(self._wanted) if self._wanted is not None else ()),
        ]

    def _take_pong(self, rtt_ns: int) -> Sequence[ConnectionEffect]:
        assert self._choice is not None
        self._rtt_ns = rtt_ns
        return [Answered(), *self._change(self._choice.at(rtt_ns))]

    def _take_reload(self, compression: Compression) -> Sequence[ConnectionEffect]:
        if self._choice is None:
            if self._url is not None:
                self._compression = compression
            else:  # the peer goes by what it was told: so do we, and follow once it is a route
                self._wanted = compression
            return []
        self._wanted = None
        followed = compression.follow(self._choice, self._rtt_ns)
        return [Outdated()] if followed is None else self._change(followed)

    def _change(self, choice: Choice) -> Sequence[ConnectionEffect]:
        if choice == self._choice:
            return []
        self._choice = choice
        return [Encode(choice), Compressed(choice.shown)]

    def _take_err(self, text: bytes) -> Sequence[ConnectionEffect]:
        level = Level.DEBUG if text.startswith(_EXPECTED_ERR) else Level.ERROR
        noted = Noted(level, "Route Error '{detail}'", {"detail": text[:_ERR_BYTES_MAX]})
        return [noted, *self._close(ClosedState.PARSE_ERROR)]

    def _time_out(self) -> Sequence[ConnectionEffect]:
        if self._url is not None:
            return self._close(ClosedState.STALE_CONNECTION, "Stale Connection")
        return self._close(ClosedState.AUTHENTICATION_TIMEOUT, "Authentication Timeout")

    def _close(
        self, reason: ClosedState, text: str = "", *, level: Level | None = None
    ) -> Sequence[ConnectionEffect]:
        self._phase = Phase.CLOSED
        noted = [] if level is None else [Noted(level, text)]
        return [*noted, Close(reason, text)]

    def _close_malformed(self, verb: str, error: ProtocolError) -> Sequence[ConnectionEffect]:
        noted = Noted(Level.ERROR, f"Invalid {verb}: {{detail}}", {"detail": str(error)})
        return [noted, *self._close(error.reason, error.text)]

    _ALWAYS: ClassVar[Steps] = {
        Event.RELOAD: Step(_take_reload, leads_to=()),
        Event.DISMISSED: Step(_close),
        Event.ERR: Step(_take_err),
    }
    _PENDING: ClassVar[Steps] = {
        **_ALWAYS,
        Event.CONNECT: Step(_refuse_connect),
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
            Event.CONNECT: Step(_refuse_connect),
            Event.INFO: Step(_take_update),
            Event.PONG: Step(_take_pong, leads_to=()),
        },
        Phase.CLOSED: {},
    }
    """The handshake: what may come in each phase, how it is handled, and where it may lead.

    An event that is not there is ignored: it crossed one that has ended the phase.
    """
