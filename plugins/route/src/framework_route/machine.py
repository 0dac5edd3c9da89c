"""Handshake of one route connection, as a machine without I/O.

    accepted:   INFO sent by the plane → CONNECT → claim → INFO → introduction → route
    solicited:  CONNECT sent → INFO → introduction → our INFO, with our place in the pool → route

`ConnectionMachine.PHASES` is the whole of it as a table. Where the two want compression, each says
INFO once more in between: the solicitor a plain one that names the mode, the acceptor a compressed
one.

What concerns this connection alone is decided here (documents, login, time); what concerns other
connections too (cluster name, duplicates, gossip) is asked of the mesh, and the link stays parked
until it has answered. Afterwards only INFO is left, which is passed on.

Source: nats-server `route.go`, `createRoute`, `processRouteConnect`, `processRouteInfo`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from framework.errors import ProtocolError
from framework.peering import (
    ArmTimer,
    Compressed,
    EncodeLink,
    Handshake,
    HandshakeEvent,
    Introduce,
    Level,
    Noted,
    Phase,
    Resume,
    Send,
    Step,
    Update,
)
from framework.wire.closed_state import ClosedState
from framework.wire.info import RouteConnect
from framework_route.effect import (
    Answered,
    Claim,
    Outdated,
    Register,
)
from framework_route.info import (
    greeting,
    introduction,
    parse_connect,
    parse_info,
    port_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework.peering import Choice, Compression, Login, PeerUrl, Steps
    from framework.wire.info import RouteInfo
    from framework_route.effect import ConnectionEffect, PoolSlot

_EXPECTED_ERR = b"Not possible to have a dedicated route for account"
"""nats-server tries one for its system account, and learns from our INFO that there is one route
for all of them: nothing that an operator should look at.

Source: nats-server `route.go`, `processRouteInfo`.
"""


class ConnectionMachine(Handshake[RouteConnect]):
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
        "_headers",
        "_local",
        "_remote",
        "_rtt_ns",
        "_url",
        "_wanted",
    )

    title = "Route"

    def __init__(
        self,
        *,
        local: RouteInfo,
        login: Login,
        compression: Compression,
        url: PeerUrl | None,
        account: str = "",
    ) -> None:
        super().__init__(login=login, is_dialed=url is not None)
        self._local = local
        self._compression = compression
        self._url = url
        self._account = account
        self._headers = local.headers
        self._remote: RouteInfo | None = None
        self._choice: Choice | None = None
        self._wanted: Compression | None = None
        self._rtt_ns = 0

    def receive_admitted(self, pool_slot: PoolSlot, local: RouteInfo) -> Sequence[ConnectionEffect]:
        """Become a route: the mesh has given this connection a place at its server.

        Args:
            pool_slot: Of the connection.
            local: How this server introduces itself at the moment.
        """
        return self._receive(HandshakeEvent.ADMITTED, pool_slot, local)

    def receive_reload(self, compression: Compression) -> Sequence[ConnectionEffect]:
        """Follow what this server wants from now on, in place if the peer need not agree."""
        return self._receive(HandshakeEvent.RELOAD, compression)

    @override
    def _open(self) -> Sequence[ConnectionEffect]:
        created = Noted(Level.INFO, "Route connection created")
        if self._url is None:
            return [created, self._await_connect()]
        self._phase = Phase.INFO_AWAITED
        sent = Noted(Level.DEBUG, "Route connect msg sent")
        timer = ArmTimer(self._login.timeout_s)
        return [Send(greeting(self._local, self._url)), sent, created, timer]

    @override
    def _parse_connect(self, document: bytes) -> RouteConnect:
        return parse_connect(document)

    @override
    def _claim(self, connect: RouteConnect) -> Sequence[ConnectionEffect]:
        self._headers = self._headers and connect.headers
        return [Claim(connect.name, connect.cluster, connect.cluster_dynamic)]

    @override
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

    @override
    def _take_update(self, document: bytes) -> Sequence[ConnectionEffect]:
        try:
            return [Update(parse_info(document))]
        except ProtocolError as error:
            return self._close_malformed("INFO", error)

    @override
    def _take_info(self, document: bytes) -> Sequence[ConnectionEffect]:
        try:
            info = parse_info(document)
        except ProtocolError as error:
            return self._close_malformed("INFO", error)
        if info.client_id or info.gateway:
            noted = Noted(Level.ERROR, f"attempted to connect to {port_of(info)} port")
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
            return [EncodeLink(choice), told, Resume()]
        return [told, EncodeLink(choice), Resume()]

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
        return [
            *effects,
            Register(
                pool_slot,
                headers=self._headers and self._remote.headers,
                traces=self._remote.traces,
                takes_origins=self._remote.lnoc and self._remote.lnocu,
            ),
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
        return [EncodeLink(choice), Compressed(choice.shown)]

    @override
    def _take_err(self, text: bytes) -> Sequence[ConnectionEffect]:
        level = Level.DEBUG if text.startswith(_EXPECTED_ERR) else Level.ERROR
        return self._close_complaining(text, level)

    PHASES: ClassVar[Mapping[Phase, Steps]] = {
        **{
            phase: {**steps, HandshakeEvent.RELOAD: Step("_take_reload", leads_to=())}
            for phase, steps in Handshake.PHASES.items()
        },
        Phase.REGISTERED: {
            **Handshake.PHASES[Phase.REGISTERED],
            HandshakeEvent.RELOAD: Step("_take_reload", leads_to=()),
            HandshakeEvent.PONG: Step("_take_pong", leads_to=()),
        },
        Phase.CLOSED: {},
    }
    """That of `Handshake`, with what a reload and a PONG lead to."""
