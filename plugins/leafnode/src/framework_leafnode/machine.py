"""Handshake of one leaf node connection, as a machine without I/O.

    accepted:  INFO sent by the plane → CONNECT → login → introduction → INFO, LS+ → registered
    dialed:    INFO → CONNECT → INFO with the account → introduction → LS+ → registered

`LeafHandshake.PHASES` is the whole of it as a table; CLAIMED is who has dialed and waits for the
hub to say so. Behind the first INFO TLS may begin (CHECKED), and then each may say INFO once
more, to compress: who dialed a plain one that names the mode, the hub a compressed one.

What concerns this connection alone is decided here; what concerns others too (duplicates, loops,
limits of the account) is asked of `Leafs`, and the link stays parked until that has answered.

Source: nats-server `leafnode.go`, `processLeafnodeInfo`, `processLeafNodeConnect`,
`leafNodeFinishConnectProcess`, `leafProcessErr`.
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
    Login,
    Noted,
    Phase,
    Resume,
    Send,
    Step,
    Steps,
    Update,
)
from framework.wire.closed_state import ClosedState
from framework_leafnode.effect import (
    Authenticate,
    Delay,
    Greet,
    Register,
    Secure,
)
from framework_leafnode.info import (
    LeafConnect,
    check_cluster_of,
    compression_text,
    parse_connect,
    parse_info,
    uncompressed_text,
    welcome,
)
from framework_leafnode.limits import (
    ANSWER_TIMEOUT_S,
    LOOP_DELAY_S,
    MIN_VERSION_DELAY_S,
    SAME_CLUSTER_DELAY_S,
)
from framework_leafnode.peer import Peer, Rights
from framework_leafnode.versions import is_at_least

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework.peering import Choice, Compression
    from framework.wire.certificates import CertificateFacts
    from framework_leafnode.effect import LeafEffect
    from framework_leafnode.info import LeafInfo
    from framework_leafnode.settings import LeafSettings, RemoteSettings

_DELAYS: Mapping[str, tuple[float, str]] = {
    "remote leafnode has same cluster name": (
        SAME_CLUSTER_DELAY_S,
        "Leafnode connection dropped with same cluster name error",
    ),
    "connection rejected since minimum version required is": (
        MIN_VERSION_DELAY_S,
        "Leafnode connection dropped due to minimum version requirement",
    ),
    "Loop detected": (LOOP_DELAY_S, "Loop detected for leafnode"),
}
"""What a hub complains of that does not go by itself: the wait, and the line of the log."""


class LeafHandshake(Handshake[LeafConnect]):
    """Lead one connection through its handshake: told what the peer says, it returns effects.

    Args:
        local: How this server introduces itself.
        settings: Of all leaf nodes.
        remote: The hub that we dialed; None: the peer dialed us.
        compression: What this server wants.
        says_info: An accepted one is told INFO here, not by the plane: it is not to be compressed.
        is_secured: The connection is encrypted already.
        needs_tls: It is to be, whether the hub requires it or not.
        nonce: What the peer was asked to sign.
        cid: Number of the connection.
        timeout_s: For an accepted one, from its opening to its login.
    """

    __slots__ = (
        "_choice",
        "_cid",
        "_compression",
        "_is_secured",
        "_local",
        "_needs_tls",
        "_nonce",
        "_peer",
        "_remote",
        "_says_info",
        "_settings",
        "_timers",
        "_welcome",
    )

    title = "Leafnode"

    def __init__(
        self,
        *,
        local: LeafInfo,
        settings: LeafSettings,
        remote: RemoteSettings | None,
        compression: Compression,
        says_info: bool = False,
        is_secured: bool = False,
        needs_tls: bool = False,
        nonce: str = "",
        cid: int,
        timeout_s: float,
    ) -> None:
        super().__init__(login=Login(timeout_s=timeout_s), is_dialed=remote is not None)
        self._local = local
        self._settings = settings
        self._remote = remote
        self._compression = compression
        self._says_info = says_info
        self._choice: Choice | None = None
        self._is_secured = is_secured
        self._needs_tls = needs_tls
        self._nonce = nonce
        self._cid = cid
        self._peer: Peer | None = None
        self._welcome: LeafInfo | None = None
        """The first INFO of a hub."""
        self._timers = 0
        """That were armed and have not fired."""

    def receive_authenticated(self, rights: Rights | None) -> Sequence[LeafEffect]:
        """Take who a leaf node is here; None: nobody who may come in."""
        return self._receive(HandshakeEvent.PASSWORD_CHECKED, rights)

    def receive_admitted(
        self, *, is_isolated: bool, loop_subject: str, addresses: Sequence[str] = ()
    ) -> Sequence[LeafEffect]:
        """Register: the connection is wanted.

        Args:
            is_isolated: The peer is not told the interest of other leaf nodes.
            loop_subject: That leads back here when the peer tells interest in it.
            addresses: Further subjects that it is told of.
        """
        subjects = (loop_subject, *addresses)
        return self._receive(HandshakeEvent.ADMITTED, is_isolated, subjects)

    def receive_secured(self) -> Sequence[LeafEffect]:
        """Go on: the connection is encrypted now."""
        return self._receive(HandshakeEvent.CLAIM_ACCEPTED)

    @override
    def receive_timeout(self) -> Sequence[LeafEffect]:
        self._timers -= 1
        return [] if self._timers else super().receive_timeout()

    def _arm(self, delay_s: float) -> ArmTimer:
        """Begin a time anew: only the last timer counts."""
        self._timers += 1
        return ArmTimer(delay_s)

    @override
    def _open(self) -> Sequence[LeafEffect]:
        if self._remote is None:
            created = Noted(Level.INFO, "Leafnode connection created")
            self._phase = Phase.CONNECT_AWAITED
            armed = self._arm(self._login.timeout_s)
            if not self._says_info:
                return [created, armed]
            told = uncompressed_text(self._local, cid=self._cid, nonce=self._nonce)
            return [created, Send(told), armed]
        self._phase = Phase.INFO_AWAITED
        event = "Leafnode connection created for account: {account}"
        noted = Noted(Level.INFO, event, {"account": self._remote.account})
        return [noted, self._arm(self._remote.first_info_timeout_s)]

    # -- who is dialed ----------------------------------------------------------------------------

    @override
    def _parse_connect(self, document: bytes) -> LeafConnect:
        return parse_connect(document)

    @override
    def _check(
        self, connect: LeafConnect, certificate: CertificateFacts | None
    ) -> Sequence[LeafEffect]:
        self._phase = Phase.CHECKED
        return [Authenticate(connect)]

    def _take_rights(self, rights: Rights | None) -> Sequence[LeafEffect]:
        if rights is None:
            return super()._go_on(is_admitted=False)
        connect, self._connect = self._connect, None
        assert connect is not None
        refusal = self._refuse_leaf(connect, rights)
        if refusal is not None:
            return refusal
        self._phase = Phase.INTRODUCED
        self._peer = Peer(
            name=connect.name,
            version=connect.version,
            cluster=connect.cluster,
            domain=connect.domain,
            account=rights.account,
            remote_account=connect.remote_account,
            rights=rights,
            is_hub=connect.is_hub,
            headers=self._local.headers and connect.headers,
            traces=connect.traces,
            denied=connect.deny_pub,
            wants_isolation=connect.isolate,
            compression=self._shown(connect),
        )
        return [Introduce(self._peer)]

    def _take_offer(self, document: bytes) -> Sequence[LeafEffect]:
        """Take which compression a leaf node has chosen, once."""
        if self._choice is not None or not self._compression.is_on:
            return super()._refuse_info_before_login(document)
        try:
            info = parse_info(document)
            self._choice = self._compression.choose(info)
        except ProtocolError as error:
            return self._close_malformed("INFO", error)
        if not self._choice.is_coded:
            return [Resume()]
        line = compression_text(self._local, self._choice, cid=self._cid, nonce=self._nonce)
        return [EncodeLink(self._choice), Send(line), Resume()]

    def _shown(self, connect: LeafConnect) -> str:
        """Return the compression with a leaf node, as monitoring has it."""
        if self._choice is not None and self._choice.is_coded:
            return self._choice.shown
        return "off" if connect.compress_mode else "not supported"

    def _refuse_leaf(self, connect: LeafConnect, rights: Rights) -> Sequence[LeafEffect] | None:
        """Say no to who is no leaf node, or none that may be one of this server."""
        if connect.lang:
            words = "attempted to connect to leaf node port"
            return self._close(ClosedState.WRONG_PORT, words, level=Level.ERROR)
        try:
            check_cluster_of(connect)
        except ProtocolError as error:
            return self._close_malformed("CONNECT", error)
        if connect.cluster and connect.cluster == self._local.cluster:
            words = "remote leafnode has same cluster name"
            return self._close(ClosedState.CLUSTER_NAMES_IDENTICAL, words, level=Level.ERROR)
        if connect.gateway:
            words = f'Rejecting connection from gateway "{connect.gateway}" on the leafnode port'
            return self._close(ClosedState.WRONG_GATEWAY, words, level=Level.ERROR)
        if not is_at_least(connect.version, self._settings.min_version):
            minimum = self._settings.min_version_text
            words = f'connection rejected since minimum version required is "{minimum}"'
            closed = self._close(ClosedState.MINIMUM_VERSION_REQUIRED, words, level=Level.ERROR)
            return [Send(welcome(self._local, rights, cid=self._cid)), *closed]
        return None

    # -- who dials --------------------------------------------------------------------------------

    @override
    def _claim(self, connect: LeafConnect) -> Sequence[LeafEffect]:
        raise AssertionError("a leaf node has logged in by `receive_authenticated`")

    @override
    def _take_info(self, document: bytes) -> Sequence[LeafEffect]:
        try:
            info = parse_info(document)
        except ProtocolError as error:
            return self._close_malformed("INFO", error)
        if info.client_id == 0 or not (info.leafnode_urls or info.info_on_connect):
            words = "attempted to connect to wrong port"
            noted = Noted(Level.ERROR, words)
            return [noted, *self._close(ClosedState.WRONG_PORT)]
        self._welcome = info
        if not self._is_secured and (self._needs_tls or info.tls_required):
            self._phase = Phase.CHECKED
            return [Secure()]
        return self._go_on_with(info)

    def _take_secured(self) -> Sequence[LeafEffect]:
        assert self._welcome is not None
        self._is_secured = True
        return self._go_on_with(self._welcome)

    def _go_on_with(self, info: LeafInfo) -> Sequence[LeafEffect]:
        """Agree on compression with a hub, then say CONNECT."""
        self._phase = Phase.INFO_AWAITED
        if self._choice is None:
            try:
                self._choice = self._compression.choose(info, is_dialed=True)
            except ProtocolError as error:
                return self._close_malformed("INFO", error)
            if self._choice.is_coded:
                told = Send(compression_text(self._local, self._choice))
                return [told, EncodeLink(self._choice), Resume()]
        self._phase = Phase.CLAIMED
        greet = Greet(info, self._choice.shown)
        if not info.info_on_connect:
            return [greet, *self._introduce(info)]
        return [greet, self._arm(ANSWER_TIMEOUT_S), Resume()]

    def _take_answer(self, document: bytes) -> Sequence[LeafEffect]:
        try:
            info = parse_info(document)
        except ProtocolError as error:
            return self._close_malformed("INFO", error)
        if not info.connect_info:
            return [Update(info), Resume()]
        return self._introduce(info)

    def _introduce(self, info: LeafInfo) -> Sequence[LeafEffect]:
        """Ask whether a hub is to be joined, by what its two INFOs say."""
        assert self._remote is not None
        assert self._welcome is not None
        welcome, self._phase = self._welcome, Phase.INTRODUCED
        rights = Rights(
            account=info.remote_account,
            may_subscribe=info.import_,
            may_publish=info.export,
            is_system=info.acc_is_sys,
        )
        self._peer = Peer(
            name=welcome.server_name or welcome.server_id,
            version=welcome.version,
            cluster=welcome.cluster,
            domain=welcome.domain,
            account=self._remote.account,
            remote_account=info.remote_account,
            rights=rights,
            is_hub=not self._remote.is_hub,
            headers=self._local.headers and welcome.headers,
            traces=welcome.traces,
            compression=self._choice.shown if self._choice else "not supported",
        )
        return [Introduce(self._peer), Update(info)]

    # -- both -------------------------------------------------------------------------------------

    def _take_admitted(
        self,
        is_isolated: bool,  # noqa: FBT001 - as `_receive` passes it on
        subjects: Sequence[str],
    ) -> Sequence[LeafEffect]:
        assert self._peer is not None
        peer, self._phase = self._peer, Phase.REGISTERED
        told = (
            [Send(welcome(self._local, peer.rights, cid=self._cid))] if self._remote is None else []
        )
        marks = Send("".join(f"LS+ {it}\r\n" for it in subjects).encode())
        return [*told, marks, Register(peer, is_isolated, subjects[0])]

    @override
    def _take_update(self, document: bytes) -> Sequence[LeafEffect]:
        if self._remote is None:
            return []
        try:
            return [Update(parse_info(document))]
        except ProtocolError as error:
            return self._close_malformed("INFO", error)

    def _take_pong(self, rtt_ns: int) -> Sequence[LeafEffect]:
        """Follow the round trip."""
        if self._choice is None or self._choice.at(rtt_ns) == self._choice:
            return []
        self._choice = self._choice.at(rtt_ns)
        return [EncodeLink(self._choice), Compressed(self._choice.shown)]

    @override
    def _take_err(self, text: bytes) -> Sequence[LeafEffect]:
        words = text.decode("utf-8", "replace")
        for part, (delay_s, what) in _DELAYS.items():
            if self._remote is not None and part in words:
                event = f"{what}. Delaying attempt to reconnect for {{delay_s}}s"
                noted = Noted(Level.ERROR, event, {"delay_s": f"{delay_s:g}"})
                return [Delay(delay_s), *super()._take_err(text), noted]
        return super()._take_err(text)

    PHASES: ClassVar[Mapping[Phase, Steps]] = {
        **Handshake.PHASES,
        Phase.CONNECT_AWAITED: {
            **Handshake.PHASES[Phase.CONNECT_AWAITED],
            HandshakeEvent.CONNECT: Step("_take_connect", leads_to=(Phase.CHECKED, Phase.CLOSED)),
            HandshakeEvent.INFO: Step("_take_offer"),
        },
        Phase.CHECKED: {
            **Handshake.PHASES[Phase.CHECKED],
            HandshakeEvent.PASSWORD_CHECKED: Step(
                "_take_rights", leads_to=(Phase.INTRODUCED, Phase.CLOSED)
            ),
            HandshakeEvent.CLAIM_ACCEPTED: Step(
                "_take_secured",
                leads_to=(Phase.INFO_AWAITED, Phase.CLAIMED, Phase.INTRODUCED, Phase.CLOSED),
            ),
        },
        Phase.INFO_AWAITED: {
            **Handshake.PHASES[Phase.INFO_AWAITED],
            HandshakeEvent.INFO: Step(
                "_take_info",
                leads_to=(Phase.CHECKED, Phase.CLAIMED, Phase.INTRODUCED, Phase.CLOSED),
            ),
        },
        Phase.CLAIMED: {
            **Handshake.PHASES[Phase.INFO_AWAITED],
            HandshakeEvent.INFO: Step("_take_answer", leads_to=(Phase.INTRODUCED, Phase.CLOSED)),
        },
        Phase.REGISTERED: {
            **Handshake.PHASES[Phase.REGISTERED],
            HandshakeEvent.PONG: Step("_take_pong", leads_to=()),
        },
    }
