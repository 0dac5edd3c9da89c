"""The server as plugins and monitoring endpoints see it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from framework.dataplane import subscription_rows
from framework.monitor import MonitorSource, Turns
from framework.monitor.answers import Answer
from framework.monitor.source import PluginState
from framework.server.accounts.system_imports import own_system_exports, system_imports
from framework.server.clients.client_listener import CLIENT_LISTENER, ClientListener
from framework.server.interfaces import is_wildcard, unicast_addresses
from framework.server.system.server_stamp import node_of
from framework.server.tls import TlsError
from framework.server.usage import UsageMeter
from framework.spec import LinkKind, ServerContext

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.actors import ActorRef, ActorSystem
    from framework.dataplane import Listed
    from framework.dataplane.totals import AccountTraffic, SublistCounters, Totals
    from framework.monitor import ClosedClient, ProcessUsage, ServerFacts
    from framework.plugins import PluginRegistry
    from framework.server.accounts.accounts import Accounts
    from framework.server.bridge import Bridge
    from framework.server.clients.client_info import ClientInfoDocument, ServerIdentity
    from framework.server.clients.clients import Clients
    from framework.server.compression import LinkCodecs
    from framework.server.dialing import Dialer
    from framework.server.plane_port import ServerPlane
    from framework.server.tls import TlsHandshakes
    from framework.spec import (
        AccountBook,
        ClientIdentity,
        ClosedState,
        Codec,
        CompressionMode,
        ConnectionInfo,
        HealthCheck,
        LinkId,
        LinkRow,
        MonitorEndpoint,
        PlaneControl,
        ServiceExport,
        SubscriptionRow,
        TapSpec,
        TlsPeer,
        TlsSettings,
    )
    from framework.spec.tap import TapRow
    from framework.topology import ServerConfig
    from framework.wire.info import ClientConnect


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
        log: FilteringBoundLogger,
    ) -> None:
        self.components: dict[str, ActorRef[Any]] = {}
        """By name of their ComponentSpec, in order of start."""
        self.endpoints: dict[str, MonitorEndpoint] = {}
        """By path."""
        self.addresses: dict[LinkKind, tuple[str, int]] = {}
        """Host as configured and real port, once bound."""
        self.peers: dict[LinkId, str] = {}
        """Names of the servers at the other ends of routes."""
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
        self._log = log
        section = config.section("cluster")
        self._cluster_name = str(section.get("name") or "") if section else ""
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

    def account_name(self, account: int) -> str:
        """Return the name of an account by its number in the data plane."""
        return self._accounts.name(account)

    @override
    def add_tap(self, spec: TapSpec) -> Callable[[], None]:
        account = self._accounts.index(spec.account)
        return self._bridge.add_tap(self._plugins.guard_tap(spec), account=account)

    def taps(self) -> Sequence[TapRow]:
        """Return drops and failures of all taps."""
        return self._bridge.taps()

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
        tls_name: str = "",
        avoided: Collection[str] = (),
        turn: int = 0,
    ) -> None:
        self._dialer.dial(
            host, port, kind, token, timeout_s, tls_name=tls_name, avoided=avoided, turn=turn
        )

    @override
    def check_tls(self, settings: TlsSettings | None) -> str | None:
        try:
            self._tls.prepare(settings)
        except TlsError as error:
            return str(error)
        return None

    @override
    def tls_peer(self, link: LinkId) -> TlsPeer | None:
        return self._tls.peers.get(link)

    @override
    def configure_tls(self, kind: LinkKind, settings: TlsSettings | None) -> None:
        self._tls.configure(kind, self._tls.prepare(settings))

    @override
    def encode_link(self, link: LinkId, codec: Codec) -> None:
        self._coding.encode(link, codec)

    @override
    def listening_address(self, kind: LinkKind) -> tuple[str, int] | None:
        return self.addresses.get(kind)

    @override
    def reachable_hosts(self, host: str) -> tuple[str, ...]:
        return unicast_addresses() if is_wildcard(host) else (host,)

    @override
    def update_client_info(self, fields: Mapping[str, object | None]) -> None:
        self._client_info.update(fields)

    def report_accounts(self, names: Sequence[str]) -> None:
        """Tell plugins that accounts came, changed or went."""
        self._plugins.accounts_changed(self, names)

    @override
    def report_opened(self, connection: ConnectionInfo) -> None:
        if connection.kind is LinkKind.ROUTE:
            self.peers[connection.link] = connection.name
        self._plugins.connection_opened(self, connection)

    @override
    def report_closed(self, connection: ConnectionInfo, reason: ClosedState) -> None:
        self.peers.pop(connection.link, None)
        self._plugins.connection_closed(self, connection, reason)

    @override
    async def monitor_document(self, path: str, query: Mapping[str, str] | None = None) -> object:
        answer = await self.endpoints[path].answer(query or {})
        return answer.document if isinstance(answer, Answer) else answer

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
        kinds: Sequence[LinkKind] = tuple(LinkKind),
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

    async def client_links(self, account: int | None) -> Sequence[LinkRow]:
        """Return the open clients of an account; None: of all."""
        return await self._bridge.ask_links(LinkKind.CLIENT, account=account)


class MonitorView(MonitorSource):
    """What monitoring endpoints may read.

    Args:
        context: The server.
        facts: What does not change but by a reload.
        plane: Has the counters.
        clients: Has the names of clients, and those that are gone.
        accounts: Its accounts.
        client_info: The INFO of clients.
        plugins: Loaded.
        component_failures: How often each component has failed.
    """

    def __init__(
        self,
        context: Context,
        *,
        plugins: PluginRegistry,
        component_failures: Mapping[str, int],
        facts: ServerFacts,
        plane: ServerPlane,
        clients: Clients,
        accounts: Accounts,
        client_info: ClientInfoDocument,
    ) -> None:
        self.health_checks: Sequence[HealthCheck] = ()
        self.requests: Mapping[str, int] = {}
        self._turns = Turns()
        self._context = context
        self._facts = facts
        self._plane = plane
        self._clients = clients
        self._accounts = accounts
        self._client_info = client_info
        self._plugins = plugins
        self._component_failures = component_failures
        self._usage = UsageMeter()

    @property
    @override
    def server_id(self) -> str:
        return self._context.server_id

    @property
    @override
    def name(self) -> str:
        return self._context.name

    @property
    @override
    def cluster_name(self) -> str:
        return self._context.cluster_name

    @property
    @override
    def turns(self) -> Turns:
        return self._turns

    @override
    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    @override
    def wall_ns(self, monotonic_ns: int) -> int:
        return time.time_ns() - time.monotonic_ns() + monotonic_ns

    @override
    async def links(
        self, kind: LinkKind | None, *, account: int | None = None
    ) -> Sequence[LinkRow]:
        if account is not None:
            return await self._context.client_links(account)
        return await self._context.links(kind)

    @override
    def list_subscriptions(
        self,
        *,
        link: LinkId | None = None,
        account: int | None = None,
        subject: str = "",
        once: bool = False,
        offset: int = 0,
        limit: int | None = None,
    ) -> AsyncGenerator[Listed, None]:
        return self._context.list_subscriptions(
            kinds=(LinkKind.CLIENT,),
            link=link,
            account=account,
            subject=subject,
            once=once,
            offset=offset,
            limit=limit,
        )

    @override
    def connection_counts(self) -> Mapping[str, int]:
        return self._clients.counts()

    @override
    def client_connect(self, row: LinkRow) -> ClientConnect | None:
        return self._clients.connect_of(row.link)

    @override
    def client_identity(self, row: LinkRow) -> ClientIdentity | None:
        return self._clients.identity_of(row.link)

    @override
    def remotes_count(self) -> int:
        return len(set(self._context.peers.values()))

    @override
    def closed_clients(self) -> Sequence[ClosedClient]:
        return tuple(self._clients.closed)

    @override
    def account_name(self, account: int) -> str:
        return self._context.account_name(account)

    @property
    @override
    def accounts(self) -> AccountBook:
        return self._accounts

    @override
    def invalid_imports(self, account: str) -> Collection[tuple[str, str]]:
        return {(it.account, it.subject) for it in self._accounts.invalid_imports(account)}

    @override
    def system_imports(self, account: str) -> Sequence[tuple[str, str, bool]]:
        spec, system = self._accounts.get(account), self._accounts.system_account
        if spec is None or not system:
            return ()
        imports = system_imports(spec, system, self._accounts.index(system))
        return [(imported.to, imported.subject, imported.share) for imported in imports]

    @override
    def system_exports(self, account: str) -> Sequence[ServiceExport]:
        spec = self._accounts.get(account)
        if spec is None or account != self._accounts.system_account:
            return ()
        return own_system_exports(spec.service_exports)

    @override
    def account_traffic(self, account: int) -> AccountTraffic:
        return self._plane.account_traffic(account)

    @override
    def sublist_counters(self, account: int | None = None) -> SublistCounters:
        return self._plane.sublist_counters(account)

    @override
    def totals(self) -> Totals:
        return self._plane.totals()

    @property
    @override
    def facts(self) -> ServerFacts:
        return self._facts

    def replace_facts(self, facts: ServerFacts) -> None:
        """Show a reloaded configuration."""
        self._facts = facts

    @property
    @override
    def client_info(self) -> Mapping[str, object]:
        return self._client_info.fields

    @property
    @override
    def request_counts(self) -> Mapping[str, int]:
        return self.requests

    @override
    def plugins(self) -> Sequence[PluginState]:
        taps, owner_of = self._context.taps(), self._plugins.owner_of
        waiting, failures = self.mailboxes(), self._component_failures
        return [
            PluginState(
                plugin,
                self._plugins.usage(plugin.name),
                [row for row in taps if row.spec.plugin == plugin.name],
                [
                    (name, count, failures.get(name, 0))
                    for name, count in waiting.items()
                    if owner_of("component", name) == plugin.name
                ],
            )
            for plugin in self._plugins.plugins
        ]

    @override
    def mailboxes(self) -> Mapping[str, int]:
        return {name: len(it.actor_inbox) for name, it in self._context.components.items()}

    @override
    def usage(self) -> ProcessUsage:
        return self._usage.measure()

    @override
    def health_problems(self) -> Sequence[str]:
        problems = []
        for check in self.health_checks:
            try:
                problem = check.check()
            except Exception as error:  # noqa: BLE001 - a check that fails is a complaint too
                problem = f"the check itself failed: {error}"
            if problem:
                problems.append(f"{check.name}: {problem}")
        return problems
