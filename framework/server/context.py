"""The server as plugins see it."""

from __future__ import annotations

import socket
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
from typing_extensions import override

from framework.actors import Reply
from framework.dataplane import subscription_rows
from framework.dataplane.sink import PORT_BYTES_MAX
from framework.monitor import Turns, answer_query
from framework.server.clients.client_listener import CLIENT_LISTENER, ClientListener
from framework.server.gates import Gates
from framework.server.ports import Ports
from framework.server.refused_addresses import AddressRefusals
from framework.server.system.server_stamp import node_of
from framework.server.tls import TlsError
from framework.server.tls.terms import tls_facts
from framework.spec import LinkKind, Overflow, ServerContext

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.actors import ActorRef, ActorSystem
    from framework.dataplane import Listed
    from framework.plugins import PluginRegistry
    from framework.server.accounts.accounts import Accounts
    from framework.server.bridge import Bridge
    from framework.server.clients.client_info import ClientInfoDocument, ServerIdentity
    from framework.server.compression import LinkCodecs
    from framework.server.dialing import Dialer
    from framework.server.plane_port import ServerPlane
    from framework.server.tls import TlsHandshakes
    from framework.server.transports import Arrivals
    from framework.spec import (
        Accepted,
        AccountBook,
        Closed,
        ClosedState,
        Codec,
        CompressionMode,
        ConnectionInfo,
        DialHandshake,
        HookOffer,
        LinkId,
        LinkRow,
        LoginRequest,
        MonitorEndpoint,
        PlaneControl,
        Port,
        Refused,
        Rows,
        SubscriptionRow,
        TapSpec,
        TlsFacts,
        TlsPeer,
        TlsSettings,
        TransportLogin,
    )
    from framework.spec.tap import TapRow
    from framework.topology import ServerConfig


class Context(ServerContext):
    """What plugins may read and ask of their server.

    Args:
        identity: Who the server is.
        config: What it was told.
        plane: Its data plane.
        system: Its actors.
        bridge: Answers questions about the plane.
        dialer: Connects to other servers.
        client_info: The INFO of clients.
        plugins: Told of connections.
        accounts: Its accounts.
        tls: Does TLS for it.
        coding: Encodes links.
        arrivals: Lets clients of transports in.
        log: Its logger.
    """

    def __init__(
        self,
        *,
        identity: ServerIdentity,
        config: ServerConfig,
        plane: ServerPlane,
        system: ActorSystem,
        bridge: Bridge,
        dialer: Dialer,
        client_info: ClientInfoDocument,
        plugins: PluginRegistry,
        accounts: Accounts,
        tls: TlsHandshakes,
        coding: LinkCodecs,
        arrivals: Arrivals,
        log: FilteringBoundLogger,
    ) -> None:
        self.components: dict[str, ActorRef[Any]] = {}
        """By name of their ComponentSpec, in order of start."""
        self.endpoints: dict[str, MonitorEndpoint] = {}
        """By path."""
        self.addresses: dict[LinkKind | str, tuple[str, int]] = {}
        """Host as configured and real port by kind, or name of a transport, once bound."""
        self.listener_numbers: dict[str, int] = {}
        """By name of a transport."""
        self.logins_of_transports: dict[str, TransportLogin] = {}
        """By name of those that have one."""
        self.peers: dict[LinkId, str] = {}
        """Names of the servers at the other ends of links."""
        self.leafnode_counts: Counter[str] = Counter()
        """Leaf nodes and hubs by their account here."""
        self.leafnode_came: Callable[[ConnectionInfo], None] = lambda _connection: None
        """Told of leaf nodes, and hubs, that are registered."""
        self.leafnode_went: Callable[[ConnectionInfo, Closed | None], None] = lambda _, _event: None
        """Told of those that are gone."""
        self.refusals = AddressRefusals(plane, log=log)
        """Addresses that plugins refuse."""
        self.gates = Gates(
            plane, port_of=self._open_port_named, blame=partial(plugins.blame, "gate"), log=log
        )
        """What decides on what clients publish."""
        self.ports = Ports(
            plane,
            blame=partial(plugins.blame, "port"),
            is_needed=self.gates.needs_port,
            confirm=bridge.confirm,
            log=log,
        )
        self._identity = identity
        self._config = config
        self._plane = plane
        self._system = system
        self._bridge = bridge
        self._dialer = dialer
        self._client_info = client_info
        self._plugins = plugins
        self._accounts = accounts
        self._tls = tls
        self._coding = coding
        self._arrivals = arrivals
        self._log = log
        self._cluster_name = ""
        self.turns: Final = Turns()
        """Of long documents, whoever makes them."""
        self._name_plane()

    @property
    @override
    def name(self) -> str:
        return self._identity.name

    @property
    @override
    def server_id(self) -> str:
        return self._identity.server_id

    @property
    @override
    def cluster_name(self) -> str:
        return self._cluster_name

    @override
    def set_cluster_name(self, name: str, *, dynamic: bool = False) -> None:
        assert name
        self._cluster_name = name
        self._name_plane()
        self._client_info.update({"cluster": name, "cluster_dynamic": dynamic or None})

    def _name_plane(self) -> None:
        name, cluster = self.name.encode(), self._cluster_name.encode()
        self._plane.set_names(name, cluster, node_of(self.name).encode())

    @property
    @override
    def config(self) -> ServerConfig:
        return self._config

    def replace_config(self, config: ServerConfig) -> None:
        """Put a reloaded configuration in force."""
        self._config = config

    @property
    @override
    def compression_modes(self) -> Mapping[str, CompressionMode]:
        return self._plugins.compression_modes

    @property
    @override
    def hooks(self) -> HookOffer:
        return self._plugins.calls

    @property
    @override
    def plane(self) -> PlaneControl:
        return self._plane

    @property
    @override
    def system(self) -> ActorSystem:
        return self._system

    @property
    @override
    def log(self) -> FilteringBoundLogger:
        return self._log

    @property
    @override
    def accounts(self) -> AccountBook:
        return self._accounts

    @override
    def recheck_logins(self, account: str | None = None) -> None:
        if listener := self.components.get(CLIENT_LISTENER):
            listener.tell(ClientListener.Recheck(account))

    @override
    def authenticate(self, request: LoginRequest) -> Reply[Accepted | Refused]:
        reply: Reply[Accepted | Refused] = Reply()
        self.components[CLIENT_LISTENER].tell(ClientListener.AskAbout(request, reply))
        return reply

    @override
    def withdraw_login(self, link: LinkId) -> None:
        if listener := self.components.get(CLIENT_LISTENER):
            listener.tell(ClientListener.Forget(link))

    def account_name(self, account: int) -> str:
        """Return the name of an account by its number in the data plane."""
        return self._accounts.name(account)

    @override
    def add_tap(self, spec: TapSpec) -> Callable[[], None]:
        account = self._accounts.index(spec.account)
        return self._bridge.add_tap(self._plugins.guard_tap(spec), account=account)

    @override
    def account_number(self, name: str) -> int:
        return self._accounts.index(name)

    @override
    def open_port(
        self,
        *,
        bytes_max: int = PORT_BYTES_MAX,
        overflow: Overflow = Overflow.REFUSE,
        said_bytes_max: int = PORT_BYTES_MAX,
    ) -> Port:
        return self._plane.open_port(
            bytes_max=bytes_max, overflow=overflow, said_bytes_max=said_bytes_max
        )

    def _open_port_named(self, name: str) -> Port:
        return self.ports[name]

    def taps(self) -> Sequence[TapRow]:
        """Return drops and failures of all taps."""
        return self._bridge.taps()

    @override
    def change_refused_addresses(
        self, name: str, *, add: Collection[str] = (), remove: Collection[str] = ()
    ) -> None:
        self.refusals.change(name, add=add, remove=remove)

    @override
    def component(self, name: str) -> ActorRef[Any]:
        return self.components[name]

    @override
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
        self._dialer.dial(
            host,
            port,
            kind,
            token,
            timeout_s,
            tls=tls,
            tls_name=tls_name,
            is_plain=is_plain,
            avoided=avoided,
            turn=turn,
            tunnel=tunnel,
            handshake=handshake,
        )

    @override
    def connect_in_process(self, host: str, port: int) -> socket.socket:
        near, far = socket.socketpair()
        near.settimeout(0)
        with far:
            self._plane.adopt(far, LinkKind.CLIENT, 0, peer=(host, port), accepted=True)
        return near

    @override
    def check_tls(self, settings: TlsSettings | None) -> str | None:
        try:
            self._tls.check(settings)
        except TlsError as error:
            return str(error)
        return None

    @override
    def secure_link(self, link: LinkId, settings: TlsSettings, server_name: str) -> Reply[TlsPeer]:
        return self._tls.secure_link(link, settings, server_name)

    @override
    def tls_peer(self, link: LinkId) -> TlsPeer | None:
        return self._tls.peers.get(link)

    @override
    def tls_facts(self, listener: LinkKind | str) -> TlsFacts | None:
        return tls_facts(self._tls.terms(self._number(listener)))

    @override
    def configure_tls(self, listener: LinkKind | str, settings: TlsSettings | None) -> None:
        is_transport = isinstance(listener, str)
        terms = self._tls.prepare(settings)
        self._tls.configure(self._number(listener), terms, comes_first=is_transport)

    def _number(self, listener: LinkKind | str) -> int:
        """Return the number that the plane knows a listener by."""
        return self.listener_numbers[listener] if isinstance(listener, str) else listener

    @override
    def encode_link(self, link: LinkId, codec: Codec) -> None:
        self._coding.encode(link, codec)

    @override
    def listening_address(self, listener: LinkKind | str) -> tuple[str, int] | None:
        return self.addresses.get(listener)

    @override
    def reachable_hosts(self, host: str) -> tuple[str, ...]:
        from framework.server.interfaces import (  # noqa: PLC0415 -- in a cluster only
            is_wildcard,
            unicast_addresses,
        )

        return unicast_addresses() if is_wildcard(host) else (host,)

    @override
    def update_client_info(self, fields: Mapping[str, object | None]) -> None:
        self._client_info.update(fields)

    @property
    @override
    def transport_logins(self) -> Mapping[str, TransportLogin]:
        return self.logins_of_transports

    @override
    def update_transport_info(self, name: str, fields: Mapping[str, object | None]) -> None:
        self._client_info.update_listener(self.listener_numbers[name], fields)

    @override
    def can_compress_frames(self) -> bool:
        return self._arrivals.can_deflate()

    @override
    def transport_of(self, link: LinkId) -> str:
        return self._arrivals.names.get(link, "")

    def report_accounts(self, names: Sequence[str]) -> None:
        """Tell plugins that accounts came, changed or went."""
        self._plugins.accounts_changed(self, names)

    @override
    def report_opened(self, connection: ConnectionInfo) -> None:
        if connection.kind is not LinkKind.CLIENT:
            self.peers[connection.link] = connection.name
        if connection.kind is LinkKind.LEAF:
            self.leafnode_counts[connection.account] += 1
            self.leafnode_came(connection)
        self._plugins.connection_opened(self, connection)

    @override
    def report_closed(
        self, connection: ConnectionInfo, reason: ClosedState, event: Closed | None = None
    ) -> None:
        self.peers.pop(connection.link, None)
        if connection.kind is LinkKind.LEAF:
            self.leafnode_counts[connection.account] -= 1
            self.leafnode_went(connection, event)
        self._plugins.connection_closed(self, connection, reason)

    @override
    async def monitor_document(self, path: str, query: Mapping[str, str] | None = None) -> object:
        from framework.monitor.answers import Answer  # noqa: PLC0415 -- when first asked
        from framework.monitor.json_stream import json_whole  # noqa: PLC0415

        answer = await answer_query(self.endpoints[path], query or {})
        document = answer.document if isinstance(answer, Answer) else answer
        # Long lists are made some at a time, as they are written.
        return msgspec.json.decode(await json_whole(document))

    @override
    async def take_turn(self) -> None:
        await self.turns.take()

    @override
    def documents(self, batches: AsyncGenerator[Sequence[dict[str, object]], None]) -> Rows:
        from framework.monitor.json_stream import Batches  # noqa: PLC0415 -- when first asked

        return Batches(batches, self.turns)

    @override
    async def links(self, kind: LinkKind | None = None) -> Sequence[LinkRow]:
        return await self._bridge.ask_links(kind)

    @override
    async def subscriptions(self, link: LinkId | None = None) -> Sequence[SubscriptionRow]:
        rows: list[SubscriptionRow] = []
        async for listed in self.list_subscriptions(link=link):
            rows += subscription_rows(listed.data)
        return rows

    @override
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
        return self._bridge.list_rows(
            kinds=kinds,
            link=link,
            account=account,
            subject=subject.encode("utf-8", "surrogateescape"),
            once=once,
            offset=offset,
            limit=limit,
        )

    async def links_of(self, kind: LinkKind | None, account: int | None) -> Sequence[LinkRow]:
        """Return the open links of a kind in an account; None: of all."""
        return await self._bridge.ask_links(kind, account=account)
