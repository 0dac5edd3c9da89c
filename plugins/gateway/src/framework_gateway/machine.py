"""Handshake of one gateway connection, as a machine without I/O.

    inbound:   INFO sent by the plane → CONNECT → claim → INFO → introduction → registered
    outbound:  INFO → introduction → CONNECT and our INFO → registered

Between servers of this kind that are to compress, each says INFO once more before CONNECT: who
dialed a plain one that names what was agreed on, the other one a compressed one.

Who dialed sends messages, who was dialed tells its interest: see `Register`. `Handshake.PHASES` is
the whole of it as a table. What concerns this connection alone is decided here (documents,
login, the name of the cluster that was dialed); what concerns others too (unknown clusters,
duplicates) is asked of the mesh, and the link stays parked until it has answered.

Source: nats-server `gateway.go`, `createGateway`, `processGatewayConnect`, `processGatewayInfo`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from framework.errors import ProtocolError
from framework.peering import (
    ArmTimer,
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
    Steps,
    Update,
)
from framework.wire.closed_state import ClosedState
from framework_gateway.effect import AccountTold, Claim, Register
from framework_gateway.info import (
    ALL_INTEREST_BEGINS,
    ALL_INTEREST_TOLD,
    GOSSIP,
    GatewayConnect,
    chosen,
    greeting,
    introduction,
    parse_connect,
    parse_info,
)
from framework_gateway.limits import INFO_TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework.peering import Choice, Compression, Login, PeerUrl
    from framework_gateway.effect import GatewayEffect
    from framework_gateway.info import GatewayInfo


class LinkMachine(Handshake[GatewayConnect]):
    """Lead one connection through its handshake: told what the peer says, it returns effects.

    Args:
        local: How this server introduces itself.
        login: What a connection that we accepted must prove.
        gateway: The cluster that we dialed; empty: the peer dialed us.
        url: Where we dialed to, with the login to use there; None: the peer dialed us.
        compression: What this server wants; None: nothing.
        is_encrypted: TLS is spoken on the connection.
    """

    __slots__ = (
        "_choice",
        "_compression",
        "_gateway",
        "_is_encrypted",
        "_local",
        "_remote",
        "_url",
    )

    title = "Gateway"

    def __init__(
        self,
        *,
        local: GatewayInfo,
        login: Login,
        gateway: str,
        url: PeerUrl | None,
        compression: Compression | None = None,
        is_encrypted: bool = False,
    ) -> None:
        assert bool(gateway) == (url is not None)
        super().__init__(login=login, is_dialed=url is not None)
        self._local = local
        self._gateway = gateway
        self._url = url
        self._compression = compression
        self._choice: Choice | None = None
        self._is_encrypted = is_encrypted
        self._remote: GatewayInfo | None = None

    def receive_admitted(self, local: GatewayInfo) -> Sequence[GatewayEffect]:
        """Register: the mesh wants this connection.

        Args:
            local: How this server introduces itself at the moment.
        """
        return self._receive(HandshakeEvent.ADMITTED, local)

    @override
    def _open(self) -> Sequence[GatewayEffect]:
        if self._url is None:
            noted = Noted(Level.INFO, "Processing inbound gateway connection")
            return [noted, self._await_connect()]
        self._phase = Phase.INFO_AWAITED
        created = 'Creating outbound gateway connection to "{gateway}"'
        return [Noted(Level.INFO, created, {"gateway": self._gateway}), ArmTimer(INFO_TIMEOUT_S)]

    @override
    def _parse_connect(self, document: bytes) -> GatewayConnect:
        return parse_connect(document)

    @override
    def _claim(self, connect: GatewayConnect) -> Sequence[GatewayEffect]:
        if not connect.gateway:
            words = "attempted to connect to gateway port"
            return self._close(ClosedState.WRONG_PORT, words, level=Level.ERROR)
        return [Claim(connect.gateway)]

    @override
    def _take_info(self, document: bytes) -> Sequence[GatewayEffect]:
        try:
            info = parse_info(document)
        except ProtocolError as error:
            return self._close_malformed("INFO", error)
        if self._url is not None:
            first = self._refuse_other(info) or self._agree(info)
            if first is not None:
                return first
        self._phase = Phase.INTRODUCED
        self._remote = info
        return [Introduce(info)]

    # -- compression ------------------------------------------------------------------------------

    def _agree(self, info: GatewayInfo) -> Sequence[GatewayEffect] | None:
        """Agree on compression with who was dialed, before CONNECT; None: there is none, or is now.

        Args:
            info: The first INFO of the other server; or the second one, which is compressed.
        """
        if self._compression is None or self._choice is not None:
            return None
        try:
            self._choice = self._compression.choose(info, is_dialed=True)
        except ProtocolError as error:
            return self._close_malformed("INFO", error)
        if not self._choice.is_coded:
            return None
        told = Send(introduction(chosen(self._local, self._choice)))
        return [told, EncodeLink(self._choice), self._noted_choice(), Resume()]

    def _take_offer(self, document: bytes) -> Sequence[GatewayEffect]:
        """Take which compression who has dialed has chosen, once."""
        if self._choice is not None or self._compression is None:
            return super()._refuse_info_before_login(document)
        try:
            self._choice = self._compression.choose(parse_info(document))
        except ProtocolError as error:
            return self._close_malformed("INFO", error)
        if not self._choice.is_coded:
            return [Resume()]
        line = introduction(chosen(self._local, self._choice))
        return [EncodeLink(self._choice), Send(line), self._noted_choice(), Resume()]

    def _noted_choice(self) -> Noted:
        assert self._choice is not None
        return Noted(Level.DEBUG, "Gateway compression: {mode}", {"mode": self._choice.shown})

    def _take_pong(self, rtt_ns: int) -> Sequence[GatewayEffect]:
        """Follow the round trip."""
        if self._choice is None or self._choice.at(rtt_ns) == self._choice:
            return []
        self._choice = self._choice.at(rtt_ns)
        return [EncodeLink(self._choice)]

    # -- who is there -----------------------------------------------------------------------------

    def _refuse_other(self, info: GatewayInfo) -> Sequence[GatewayEffect] | None:
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

    def _take_admitted(self, local: GatewayInfo) -> Sequence[GatewayEffect]:
        assert self._remote is not None
        remote, self._phase = self._remote, Phase.REGISTERED
        register = Register(
            is_outbound=self._url is not None,
            headers=local.headers and remote.headers,
            traces=remote.traces,
            is_optimistic=not remote.gateway_iom,
        )
        fields = {"gateway": remote.gateway, "remote_id": remote.server_id}
        if self._url is None:
            registered = 'Inbound gateway connection from "{gateway}" ({remote_id}) registered'
            return [register, Noted(Level.INFO, registered, fields)]
        sent = 'Gateway connect protocol sent to "{gateway}"'
        registered = 'Outbound gateway connection to "{gateway}" ({remote_id}) registered'
        return [
            Send(greeting(local, self._url, is_encrypted=self._is_encrypted)),
            Noted(Level.DEBUG, sent, {"gateway": remote.gateway}),
            register,
            Noted(Level.INFO, registered, fields),
        ]

    @override
    def _take_update(self, document: bytes) -> Sequence[GatewayEffect]:
        try:
            info = parse_info(document)
        except ProtocolError as error:
            return self._close_malformed("INFO", error)
        if self._url is None:
            return []
        if info.gateway_cmd == GOSSIP:
            return [Update(info)]
        refusal = self._refuse_other(info)
        if refusal is not None:
            return refusal
        if info.gateway_cmd in {ALL_INTEREST_BEGINS, ALL_INTEREST_TOLD}:
            return self._take_told(info)
        return [Update(info)]

    def _take_told(self, info: GatewayInfo) -> Sequence[GatewayEffect]:
        """Take that all interest in an account is told, or was told.

        Source: nats-server `gateway.go`, `getAccountFromGatewayCommand`.
        """
        ends = info.gateway_cmd == ALL_INTEREST_TOLD
        if not info.gateway_cmd_payload:
            step = "complete" if ends else "start"
            words = f"Account absent from receive-all-subscriptions-{step} command"
            return self._close(ClosedState.PROTOCOL_VIOLATION, words, level=Level.ERROR)
        return [AccountTold(info.account, ends), Update(info)] if info.account else []

    PHASES: ClassVar[Mapping[Phase, Steps]] = {
        **Handshake.PHASES,
        Phase.CONNECT_AWAITED: {
            **Handshake.PHASES[Phase.CONNECT_AWAITED],
            HandshakeEvent.INFO: Step("_take_offer"),
        },
        Phase.REGISTERED: {
            **Handshake.PHASES[Phase.REGISTERED],
            HandshakeEvent.PONG: Step("_take_pong", leads_to=()),
        },
    }
