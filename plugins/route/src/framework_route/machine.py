"""The handshake of one connection between two servers, as a machine without I/O.

    accepted:   INFO sent by the plane →   CONNECT   →  claim  →  INFO  →  introduction  → route
    solicited:  CONNECT and INFO sent  →     INFO    →  introduction  → route

What concerns this connection alone is decided here (documents, login, time); what concerns other
connections too (cluster name, duplicates, gossip) is asked of the mesh, and the link stays parked
until it has answered. Afterwards only INFO is left, which is passed on.

Source: nats-server `route.go`, `createRoute`, `processRouteConnect`, `processRouteInfo`.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

from framework.errors import ProtocolError
from framework.wire.closed_state import ClosedState
from framework_route.effect import (
    ArmTimer,
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
from framework_route.info import TRACE_PROTOCOL, greeting, parse_connect, parse_info

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.wire.info import RouteConnect, RouteInfo
    from framework_route.effect import ConnectionEffect
    from framework_route.url import RouteUrl

_ERR_BYTES_MAX = 256
"""Of a peer's `-ERR` that go to the log."""

_EXPECTED_ERR = b"Not possible to have a dedicated route for account"
"""nats-server tries one for its system account, and learns from our INFO that there is one route
for all of them: nothing that an operator should look at.

Source: nats-server `route.go`, `processRouteInfo`.
"""


@dataclass(frozen=True, slots=True)
class Login:
    """What an accepted connection must prove, and how soon."""

    user: str = ""
    """Empty: anybody may connect."""
    password: str = field(default="", repr=False)
    timeout_s: float = 2.0
    """From the opening of the connection to its registration."""

    def admits(self, user: str, password: str) -> bool:
        """Compare in a time that does not tell how much of the two was right."""
        if not self.user:
            return True
        expected = f"{self.user}\0{self.password}".encode("utf-8", "surrogatepass")
        return hmac.compare_digest(expected, f"{user}\0{password}".encode("utf-8", "surrogatepass"))


class _Phase(Enum):
    CREATED = auto()
    CONNECT_AWAITED = auto()
    CLAIMED = auto()
    INFO_AWAITED = auto()
    INTRODUCED = auto()
    REGISTERED = auto()
    CLOSED = auto()


class ConnectionMachine:
    """One connection: told what the peer says, it answers what is to be done.

    Args:
        local: How this server introduces itself.
        login: What a connection that we accepted must prove.
        url: Where we dialed to; None for a connection that we accepted.
    """

    __slots__ = ("_headers", "_local", "_login", "_phase", "_remote", "_url")

    def __init__(self, *, local: RouteInfo, login: Login, url: RouteUrl | None) -> None:
        self._local = local
        self._login = login
        self._url = url
        self._phase = _Phase.CREATED
        self._headers = local.headers
        self._remote: RouteInfo | None = None

    def receive_opened(self) -> Sequence[ConnectionEffect]:
        """Begin; an accepted peer was sent our INFO by the plane."""
        assert self._phase is _Phase.CREATED
        created = Noted(Level.INFO, "Route connection created")
        timer = ArmTimer(self._login.timeout_s)
        if self._url is None:
            self._phase = _Phase.CONNECT_AWAITED
            return [created, timer]
        self._phase = _Phase.INFO_AWAITED
        sent = Noted(Level.DEBUG, "Route connect msg sent")
        return [Send(greeting(self._local, self._url)), sent, created, timer]

    def receive_connect(self, document: bytes) -> Sequence[ConnectionEffect]:
        """Check who wants to connect; the first thing an accepted peer says."""
        if self._phase is _Phase.CLOSED:
            return []
        if self._phase is not _Phase.CONNECT_AWAITED:
            return self._close(ClosedState.PROTOCOL_VIOLATION, "Unexpected CONNECT")
        try:
            connect = parse_connect(document)
        except ProtocolError as error:
            return self._close_malformed("CONNECT", error)
        refusal = self._refuse(connect)
        if refusal is not None:
            return refusal
        self._phase = _Phase.CLAIMED
        self._headers = self._headers and connect.headers
        return [Claim(connect.name, connect.cluster, connect.cluster_dynamic)]

    def _refuse(self, connect: RouteConnect) -> Sequence[ConnectionEffect] | None:
        if connect.lang:
            words = "attempted to connect to route port"
            return self._close(ClosedState.WRONG_PORT, words, level=Level.ERROR)
        if connect.gateway:
            event = 'Rejecting connection from gateway "{name}" on the Route port'
            fields = {"name": connect.gateway}
            noted = Noted(Level.ERROR, event, fields)
            return [noted, *self._close(ClosedState.WRONG_GATEWAY, event.format(**fields))]
        if not self._login.admits(connect.user, connect.password):
            return [
                Noted(Level.ERROR, "authentication error"),
                *self._close(ClosedState.AUTHENTICATION_VIOLATION, "Authorization Violation"),
            ]
        return None

    def receive_claim_accepted(self) -> Sequence[ConnectionEffect]:
        """Go on to INFO: the mesh knows the peer's cluster as ours."""
        if self._phase is not _Phase.CLAIMED:
            return []
        self._phase = _Phase.INFO_AWAITED
        return [Resume()]

    def receive_info(self, document: bytes) -> Sequence[ConnectionEffect]:
        """Take the peer's introduction, or what a registered route says later."""
        match self._phase:
            case _Phase.CLOSED:
                return []
            case _Phase.CONNECT_AWAITED:
                return self._close(ClosedState.AUTHENTICATION_VIOLATION, "Authorization Violation")
            case _Phase.INFO_AWAITED | _Phase.REGISTERED:
                return self._take_info(document)
            case _:
                return self._close(ClosedState.PROTOCOL_VIOLATION, "Unexpected INFO")

    def _take_info(self, document: bytes) -> Sequence[ConnectionEffect]:
        try:
            info = parse_info(document)
        except ProtocolError as error:
            return self._close_malformed("INFO", error)
        if self._phase is _Phase.REGISTERED:
            return [Update(info)]
        if info.client_id or info.gateway:
            port = "client" if info.client_id else "gateway"
            noted = Noted(Level.ERROR, f"attempted to connect to {port} port")
            return [noted, *self._close(ClosedState.WRONG_PORT)]
        self._phase = _Phase.INTRODUCED
        self._remote = info
        return [Introduce(info)]

    def receive_admitted(self) -> Sequence[ConnectionEffect]:
        """Become a route: the mesh has given this connection the place of its server."""
        if self._phase is not _Phase.INTRODUCED:
            return []
        assert self._remote is not None
        self._phase = _Phase.REGISTERED
        return [
            Noted(
                Level.DEBUG,
                'Registering remote route "{remote_id}"',
                {"remote_id": self._remote.server_id},
            ),
            Register(self._headers and self._remote.headers, self._remote.proto >= TRACE_PROTOCOL),
            Noted(Level.DEBUG, "Sent local subscriptions to route"),
        ]

    def receive_dismissed(self, reason: ClosedState, text: str) -> Sequence[ConnectionEffect]:
        """Close: the mesh has no place for this connection."""
        return [] if self._phase is _Phase.CLOSED else self._close(reason, text)

    def receive_err(self, text: bytes) -> Sequence[ConnectionEffect]:
        """Take the peer's complaint; it closes the connection, and so do we."""
        if self._phase is _Phase.CLOSED:
            return []
        level = Level.DEBUG if text.startswith(_EXPECTED_ERR) else Level.ERROR
        noted = Noted(level, "Route Error '{detail}'", {"detail": text[:_ERR_BYTES_MAX]})
        return [noted, *self._close(ClosedState.PARSE_ERROR)]

    def receive_timeout(self) -> Sequence[ConnectionEffect]:
        """Close unless the handshake is done."""
        if self._phase in {_Phase.REGISTERED, _Phase.CLOSED}:
            return []
        if self._url is not None:
            return self._close(ClosedState.STALE_CONNECTION, "Stale Connection")
        return self._close(ClosedState.AUTHENTICATION_TIMEOUT, "Authentication Timeout")

    def _close(
        self, reason: ClosedState, text: str = "", *, level: Level | None = None
    ) -> Sequence[ConnectionEffect]:
        self._phase = _Phase.CLOSED
        noted = [] if level is None else [Noted(level, text)]
        return [*noted, Close(reason, text)]

    def _close_malformed(self, verb: str, error: ProtocolError) -> Sequence[ConnectionEffect]:
        noted = Noted(Level.ERROR, f"Invalid {verb}: {{detail}}", {"detail": str(error)})
        return [noted, *self._close(error.reason, error.text)]
