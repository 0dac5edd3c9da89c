"""The server, as plugins see it."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from enum import Enum
from typing import Any, Protocol

from framework.actors import ActorRef, ActorSystem, Reply
from framework.dataplane import Closed, Listed
from framework.dataplane.link import LinkId, LinkKind, LinkRow, SubscriptionRow
from framework.dataplane.sink import PORT_BYTES_MAX, Overflow
from framework.spec.account import AccountBook
from framework.spec.compression import Codec, CompressionMode
from framework.spec.connection import ConnectionInfo
from framework.spec.hooks import HookOffer
from framework.spec.logger import FilteringBoundLogger
from framework.spec.login import Accepted, LoginRequest, Refused, TlsPeer
from framework.spec.plane import PlaneControl
from framework.spec.ports import Port
from framework.spec.rows import Rows
from framework.spec.tap import TapSpec
from framework.spec.tls import TlsFacts, TlsSettings
from framework.spec.transport import DialHandshake, TransportLogin
from framework.topology import ServerConfig
from framework.wire.closed_state import ClosedState


class StopReason(Enum):
    """Why a server stops."""

    ASKED = "asked"
    """By a signal, or by the program that embeds it."""
    FAILED = "failed"
    """A component gave up, or the start did not come to its end."""


class ServerContext(Protocol):
    """What a plugin may read and ask of its server.

    Everything here is for the control loop: components, hooks, endpoints.
    """

    @property
    def name(self) -> str:
        """Name of the server; unique in its cluster."""
        ...

    @property
    def server_id(self) -> str:
        """Public key that stands for this run of the server."""
        ...

    @property
    def cluster_name(self) -> str:
        """Name of the cluster; empty when the server is in none."""
        ...

    def set_cluster_name(self, name: str, *, dynamic: bool = False) -> None:
        """Change the name of the cluster, and tell clients by INFO.

        Args:
            name: Not empty.
            dynamic: It was generated and gives way to a configured one.
        """
        ...

    @property
    def config(self) -> ServerConfig:
        """The configuration in force."""
        ...

    @property
    def compression_modes(self) -> Mapping[str, CompressionMode]:
        """The modes of all plugins by name, as `framework_config_sections` was told them."""
        ...

    @property
    def hooks(self) -> HookOffer:
        """Calls hooks on the plugins of this server: also those that plugins offer each other."""
        ...

    @property
    def plane(self) -> PlaneControl:
        """Commands to the data plane."""
        ...

    @property
    def system(self) -> ActorSystem:
        """The server's actors."""
        ...

    @property
    def log(self) -> FilteringBoundLogger:
        """Logger that names the server."""
        ...

    @property
    def accounts(self) -> AccountBook:
        """The accounts that the server knows."""
        ...

    def recheck_logins(self, account: str | None = None) -> None:
        """Authenticate logged-in clients again; who is refused now is closed.

        For authenticators with a `recheck`, when what they know has changed. The answers come in
        later turns of the control loop.

        Args:
            account: Only about clients of this account; None: about all.
        """
        ...

    def authenticate(self, request: LoginRequest) -> Reply[Accepted | Refused]:
        """Ask those who decide on clients about a link of another kind, such as a leaf node.

        Who need not log in is accepted. The reply's account is known, and its permissions are
        what the account allows everybody where the user has none. It is set in the control loop;
        never, if an authenticator does not answer: the owner of the link has a time for that.

        Args:
            request: Of a link that is asked about once at a time.
        """
        ...

    def withdraw_login(self, link: LinkId) -> None:
        """Forget what `authenticate` was asked about a link that has gone."""
        ...

    def add_tap(self, spec: TapSpec) -> Callable[[], None]:
        """Subscribe a tap now, beside those of `framework_taps`; return a function that removes it.

        Raises:
            KeyError: Its account is not known.
        """
        ...

    def account_number(self, name: str) -> int:
        """Return the number by which ports know an account; it stays the name's.

        Raises:
            KeyError: It is not known.
        """
        ...

    def open_port(
        self,
        *,
        bytes_max: int = PORT_BYTES_MAX,
        overflow: Overflow = Overflow.REFUSE,
        said_bytes_max: int = PORT_BYTES_MAX,
    ) -> Port:
        """Open a port: a thread of the plugin's own subscribes and publishes by it.

        It ends with `Port.close`, or when the server stops. What it subscribes to in an account
        that is removed ends with the account, and does not come back with it.

        Args:
            bytes_max: Bytes of messages that it may hold in batches that it has not let go of.
            overflow: What happens to more.
            said_bytes_max: Bytes that it may have published without the server having taken them.
        """
        ...

    def change_refused_addresses(
        self, name: str, *, add: Collection[str] = (), remove: Collection[str] = ()
    ) -> None:
        """Change what `framework_refused_addresses` declared; all of it or, on an error, nothing.

        It holds for whoever connects from the data plane's next turn on. Connections that are
        there stay: `links` finds them by their address, and `plane.close` ends them.

        Args:
            name: Of the RefusedAddresses.
            add: Ranges, or addresses; those that are there already stay.
            remove: Ranges as they were added; others are passed over. An address in a wider
                range stays refused.

        Raises:
            KeyError: Nobody declared `name`, or the server has not come so far.
            ValueError: One is no range, or there would be more than 65,536.
        """
        ...

    def component(self, name: str) -> ActorRef[Any]:
        """Return the running actor of the ComponentSpec `name`.

        Raises:
            KeyError: There is none, or it has not started yet; `requires` sees to the order.
        """
        ...

    def dial(
        self,
        host: str,
        port: int,
        kind: LinkKind,
        token: int,
        timeout_s: float,
        *,
        tls: TlsSettings | None = None,
        tls_name: str = "",
        is_plain: bool = False,
        avoided: Collection[str] = (),
        turn: int = 0,
        tunnel: DialHandshake | None = None,
        handshake: DialHandshake | None = None,
    ) -> None:
        """Resolve and connect without blocking, with TLS where the listener of `kind` has it.

        The addresses of a name are tried in the same order by every server that resolves it: so
        where one name stands for a whole cluster, all of them come together.
        The owner of `kind` is told: `Opened` with this token in `LinkEvents`, or `DialFailed`.

        Args:
            host: Name or address.
            port: Where.
            kind: What is dialed.
            token: Tells this dial from others.
            timeout_s: For connecting; names and handshakes have times of their own.
            tls: Of this dial alone, checked before; None: as the listener of `kind`.
            tls_name: Whom the peer's certificate must be for; empty: `host`.
            is_plain: Without TLS at first, whatever the listener of `kind` has: `secure_link` may
                follow.
            avoided: Addresses of the host that are not tried.
            turn: How many of its addresses have their turn last rather than first; at least 0.
            tunnel: Comes before TLS, within `timeout_s`, with who is at `host` and `port` and leads
                on to the other server, such as a proxy; None: nobody does.
            handshake: Comes behind TLS, within `timeout_s`, and says which stages the link has;
                None: there is none.
        """
        ...

    def connect_in_process(self, host: str, port: int) -> socket.socket:
        """Return a connection to this server as clients have one, without a network.

        It begins with INFO, and is a client's in all else: it logs in, has permissions and limits,
        and is in `/connz`. TLS is not spoken on it. The socket does not block.

        Args:
            host: For whom it is made; shown as the client's address.
            port: Likewise.
        """
        ...

    def secure_link(self, link: LinkId, settings: TlsSettings, server_name: str) -> Reply[TlsPeer]:
        """Do the TLS handshake on a link that was dialed plainly; it stays parked.

        The reply is set when that has come about, or with an error where the settings can't be
        followed. A handshake that fails closes the link: `ClosedState.TLS_HANDSHAKE_ERROR`.

        Args:
            link: Parked by the greeting of the other server.
            settings: Checked before.
            server_name: Whom the certificate of the other server must be for.
        """
        ...

    def check_tls(self, settings: TlsSettings | None) -> str | None:
        """Return why TLS settings can't be used; None: they can, or there are none."""
        ...

    def tls_peer(self, link: LinkId) -> TlsPeer | None:
        """Return the TLS version, cipher and certificates of a link; None: it has no TLS."""
        ...

    def tls_facts(self, listener: LinkKind | str) -> TlsFacts | None:
        """Return the TLS of new links of a kind, or of a transport; None: none."""
        ...

    def configure_tls(self, listener: LinkKind | str, settings: TlsSettings | None) -> None:
        """Set the TLS settings of new links of a kind, or of a transport; checked before.

        None: they are plain.
        """
        ...

    def encode_link(self, link: LinkId, codec: Codec) -> None:
        """Encode a link whose greeting waits for an answer, and decode all that follows that.

        What was said to it before goes out as it is, all later output is encoded. The link goes
        on by itself. One whose peer, or codec, fails is closed with `ClosedState.READ_ERROR`.

        Args:
            link: To another server; parked; encoded once at most.
            codec: As agreed with the peer.
        """
        ...

    def listening_address(self, listener: LinkKind | str) -> tuple[str, int] | None:
        """Return host and real port of a listener, by kind or by the name of its transport.

        None before it accepts.
        """
        ...

    def reachable_hosts(self, host: str) -> tuple[str, ...]:
        """Return the addresses by which others reach a listener on `host`.

        Of a wildcard, those of all interfaces of this machine, without loopback and link-local
        ones; there may be none. Any other host is returned as it is.
        """
        ...

    def update_client_info(self, fields: Mapping[str, object | None]) -> None:
        """Merge `fields` into the INFO of clients (None removes one), and send it to them."""
        ...

    def can_compress_frames(self) -> bool:
        """Return whether `WebSocketFrames` may be compressed: this Python's zlib is found."""
        ...

    def transport_of(self, link: LinkId) -> str:
        """Return the transport by which a link came that is no client; empty: it came by none."""
        ...

    @property
    def transport_logins(self) -> Mapping[str, TransportLogin]:
        """Return the logins that transports have of their own, by their names."""
        ...

    def update_transport_info(self, name: str, fields: Mapping[str, object | None]) -> None:
        """Merge `fields` into the INFO of clients that come by a transport, and send it to them.

        They have what all clients' INFO has, but for these; None leaves one out.

        Args:
            name: Of a TransportSpec of this server.
            fields: Beside `host`, `port` and those of TLS, which follow from the spec.
        """
        ...

    def report_opened(self, connection: ConnectionInfo) -> None:
        """Tell plugins that a connection finished its handshake; its owner says so, once."""
        ...

    def report_closed(
        self, connection: ConnectionInfo, reason: ClosedState, event: Closed | None = None
    ) -> None:
        """Tell plugins that a connection is gone.

        Args:
            connection: Equal to the one that was told as opened.
            reason: Why it ended.
            event: How the plane reports its end; None: it has not yet.
        """
        ...

    async def monitor_document(self, path: str, query: Mapping[str, str] | None = None) -> object:
        """Return what a monitoring endpoint answers, such as `/varz`, as JSON has it.

        Args:
            path: Without the base path of HTTP; the monitoring port may be off.
            query: Its options.

        Raises:
            KeyError: There is no such endpoint, or the server has not come so far.
            BadQuery: The query makes no sense.
        """
        ...

    async def take_turn(self) -> None:
        """Return when the next piece of a long document may be made.

        Logins and whatever else waits come before it, and others who make one take turns; but for
        pieces that begin within 250 us, which go together. A piece is less than a millisecond's
        work.
        """
        ...

    def documents(self, batches: AsyncGenerator[Sequence[dict[str, object]], None]) -> Rows:
        """Return a long array of a monitoring document, which is made while it is sent.

        Args:
            batches: Yields its items, in each batch what one turn may take; `take_turn` is called
                for it. Items may have such arrays themselves.
        """
        ...

    async def links(self, kind: LinkKind | None = None) -> Sequence[LinkRow]:
        """Return the state of all links, or of one kind, as the plane sees it now."""
        ...

    async def subscriptions(self, link: LinkId | None = None) -> Sequence[SubscriptionRow]:
        """Return all subscriptions, or those of one link; there may be a million."""
        ...

    def list_subscriptions(
        self,
        *,
        kinds: Sequence[LinkKind] | None = None,
        link: LinkId | None = None,
        account: int | None = None,
        subject: str = "",
        once: bool = False,
        offset: int = 0,
        limit: int | None = None,
    ) -> AsyncGenerator[Listed, None]:
        """Yield subscriptions some hundred at a time; others have their turns in between.

        What comes or goes meanwhile may be missing. `SubscriptionRows` makes a document of them.

        Args:
            kinds: Of links; None: all.
            link: Of this one alone; None: of all.
            account: Only those of the account with this number; None: of all.
            subject: Only those that can get the same message as this one; empty: all.
            once: At most one of each link.
            offset: How many are left out at the beginning.
            limit: How many there are at most; 0: they are only counted. None: all.
        """
        ...
