"""Wire the parts of one server; start them in order, and stop them in reverse.

Size: the order of a start is one list, and each part is handed what came before it.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from framework.actors import ActorSystem, AsyncioDispatcher
from framework.monitor import core_endpoints
from framework.server.accounts.accounts import Accounts
from framework.server.bridge import Bridge
from framework.server.clients.authentication import Authentication
from framework.server.clients.authenticator_order import check_order, check_transports, in_order
from framework.server.clients.client_info import ClientInfoDocument
from framework.server.clients.client_listener import CLIENT_LISTENER
from framework.server.component_failures import ComponentFailures
from framework.server.compression import LinkCodecs
from framework.server.context import Context
from framework.server.dialing import Dialer
from framework.server.facts import facts_of
from framework.server.limits import STOP_DEADLINE_S
from framework.server.link_kinds import LinkKinds
from framework.server.listeners import Listeners
from framework.server.monitor_view import MonitorView
from framework.server.run_files import RunFiles
from framework.server.stopping import call_in_thread
from framework.server.system import SystemAccount
from framework.server.system.message_traces import MESSAGE_TRACES
from framework.server.system.remote_counts import RemoteCounts
from framework.server.system.server_stamp import ServerTraits
from framework.server.system.service_latencies import SERVICE_LATENCIES
from framework.server.tls import TlsError, TlsHandshakes, placed_tls_error
from framework.server.transports import Arrivals
from framework.spec import (
    AddressRefused,
    ComponentSpec,
    GateFailed,
    HealthCheck,
    LatencySampled,
    LinkKind,
    ListenerSpec,
    MessageTraced,
    ResponderTimed,
    Traced,
)
from framework.spec.tracing import log_traced

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.actors import ActorRef
    from framework.monitor import ServerFacts
    from framework.plugins import PluginRegistry
    from framework.server.bridge import LinkTransport
    from framework.server.clients.client_info import ServerIdentity
    from framework.server.plane_port import MakePlane, ServerPlane
    from framework.server.settings import ServerSettings
    from framework.server.stopping import StopSteps
    from framework.spec import Authenticator, GateSpec, MonitorEndpoint, TapSpec, TransportSpec
    from framework.topology import ServerConfig, TopologyError


class Assembly:
    """All parts of a running server.

    Args:
        config: What it is told.
        settings: What that comes to.
        identity: Who it is.
        plugins: What it is made of besides the core.
        log: Its logger.
        make_plane: Makes its data plane.
        steps: Learns how to undo each thing done here.
        failed: Told of a component that has given up.
        reload: Reads the configuration anew, for an operator, and puts it in force.
    """

    _components: Sequence[ComponentSpec] = ()
    _listener_specs: Sequence[ListenerSpec] = ()

    def __init__(
        self,
        *,
        config: ServerConfig,
        settings: ServerSettings,
        identity: ServerIdentity,
        plugins: PluginRegistry,
        log: FilteringBoundLogger,
        make_plane: MakePlane,
        steps: StopSteps,
        failed: Callable[[BaseException], None],
        reload: Callable[[], Awaitable[object]],
    ) -> None:
        self._started_ns = time.time_ns()
        self.is_well = False
        """Whether `/healthz` may say so."""
        self._files = _run_files(settings)
        self._config = config
        self._settings = settings
        self._plugins = plugins
        self._log = log
        self._steps = steps
        self._kinds = LinkKinds.with_those(plugins.link_kinds(config))
        rows, reserved = self._kinds.rows, self._kinds.reserved
        self.plane = make_plane(settings.limits, kinds=rows, reserved=reserved)
        self._failures = ComponentFailures(plugins, log=log)
        self._dispatcher = AsyncioDispatcher(report_slow=self._failures.receive_slow)
        self._system = self._actor_system(identity.name, failed)
        self._arrivals = Arrivals(self.plane, log=log)
        self.tls = TlsHandshakes(self.plane, hand_on=self._arrivals.take, log=log)
        self._arrivals.hand_over_tls = self.tls.hand_over
        self.listeners = Listeners(self.plane, tls=self.tls, arrivals=self._arrivals, steps=steps)
        self._coding = LinkCodecs(self.plane, log=log)
        self._bridge = Bridge(self.plane, transports=self._carriers(), log=log)
        self._dialer = Dialer(self.plane, report=self._bridge.tell_owner, tls=self.tls)
        self.client_info = _client_info(self.plane, identity, settings)
        self._follows_accounts = False
        """Whether clients, the system account and plugins follow changes of accounts."""
        self.accounts = Accounts(
            self.plane,
            log=log,
            changed=self._accounts_changed,
            came_back=self._bridge.renew_taps,
        )
        self.context = Context(
            identity=identity,
            config=config,
            plane=self.plane,
            system=self._system,
            bridge=self._bridge,
            dialer=self._dialer,
            client_info=self.client_info,
            plugins=plugins,
            accounts=self.accounts,
            tls=self.tls,
            coding=self._coding,
            arrivals=self._arrivals,
            log=log,
        )
        self._gate = self._make_authentication()
        self._remote_counts = RemoteCounts(self._gate.rebalance)
        self.clients = self._gate.clients
        self.facts = self._facts_now()
        self._monitor = self._make_monitor()
        self._system_account = self._make_system_account(reload)
        self.status_fields: Mapping[str, MonitorEndpoint] = {}
        """What plugins say in the status line."""

    def bind(self) -> None:
        """Collect components and listeners of plugins, and bind every address.

        Raises:
            PluginError: A plugin failed, or two want one thing.
            TopologyError: A certificate or its key can't be used.
            ListenError: An address can't be listened on.
        """
        settings = self._settings
        listener = ListenerSpec(
            kind=LinkKind.CLIENT,
            host=settings.host,
            port=settings.port,
            owner=CLIENT_LISTENER,
            tls=settings.tls,
        )
        self._components = self._plugins.components(
            self.context, (self._gate.component(), *self._system_account.components())
        )
        self._listener_specs = self._plugins.listeners(
            self.context, (listener,), components=self._components
        )
        if self._kinds.has_peer([it.kind for it in self._listener_specs]):
            self.accounts.join_cluster()
        try:
            transports = self._plugins.transports(self.context)
            self.listeners.bind(self._listener_specs, transports, settings)
        except TlsError as error:
            raise placed_tls_error(error, self._config) from error
        self.context.addresses.update(self.listeners.addresses())
        for it in self.listeners.all:
            if it.transport:
                self.context.listener_numbers[it.transport.name] = it.number
                self.client_info.update_listener(it.number, it.info_fields)
                self._follow_transport(it.transport, it.number)
        self._tell_clients(settings)
        self._show_facts()

    def _follow_transport(self, spec: TransportSpec, number: int) -> None:
        """Put in force what the clients of a transport have of their own."""
        if spec.login is not None:
            self.context.logins_of_transports[spec.name] = spec.login
        if spec.ping_interval_s is not None:
            self.plane.set_link_times(number, ping_interval_s=spec.ping_interval_s)
        self._gate.add_transport(spec, number)

    async def run(self) -> None:
        """Run the actors and the plane.

        Raises:
            PluginError: A plugin failed.
        """
        self._steps.push("actors", self._stop_actors)
        for spec in self._components:
            await self._import(spec)
            self.context.components[spec.name] = self._spawn(spec)
        await self._turns_so_far()
        self._failures.refuse_start()
        for listener in self._listener_specs:
            self._bridge.set_owner(listener.kind, self.context.components[listener.owner])
        self._watch()
        self._start_carriers()
        self._steps.push("bridge", self._bridge.stop)
        self._steps.push("gates", self.context.gates.stop)
        self._steps.push("ports of gates", self.context.ports.close_rest)
        self._trace(self._settings)
        self.plane.start()
        self._bridge.start()
        self._steps.push("data plane", self._stop_plane)
        self._steps.push("dials", self._dialer.stop)
        self.accounts.replace(self._plugins.accounts(self.context))
        self._follows_accounts = True
        authenticators = self._ask_for_logins()
        check_order(authenticators, self._config)
        check_transports(authenticators, self.context.transport_logins)
        await self.context.ports.open(self._plugins.ports(self.context), self._steps)
        await self._bridge.confirm()  # the plane knows what they have subscribed to
        await self.follow_policies()
        self._steps.push("taps", self._bridge.remove_taps)
        refused = self._plugins.refused_addresses(self.context)
        self.context.refusals.install(refused)
        endpoints = self._collect_monitoring()
        await self._start_monitor(endpoints)
        services = self._system_account.services(endpoints)
        self._system_account.begin(self._plugins.services(self.context, services))
        self.client_info.update(
            self._plugins.server_info(self.context, self.client_info.field_names)
        )

    def _watch(self) -> None:
        """Pass on the events that no owner of links gets, or not it alone."""
        latencies = self.context.components[SERVICE_LATENCIES]
        self._bridge.watch(LatencySampled, latencies.tell)
        self._bridge.watch(ResponderTimed, latencies.tell)
        traces = self.context.components[MESSAGE_TRACES]
        self._bridge.watch(MessageTraced, traces.tell)
        self._bridge.watch(AddressRefused, self.context.refusals.receive)
        self._bridge.watch(GateFailed, self.context.gates.receive)
        for kind in self._kinds.users:
            if kind is not LinkKind.CLIENT:  # clients remember their own, with who they were
                self._bridge.watch_ends(kind, self.clients.remember_closed)
        system_log = self._log.bind(remote="SYSTEM")
        self._bridge.watch(Traced, partial(log_traced, system_log))

    def _start_carriers(self) -> None:
        """Let TLS, transports and codecs begin; their threads come with the first link."""
        self.tls.start()
        self._steps.push("TLS", self._stop_tls)
        self._arrivals.start()
        self._steps.push("transports", self._stop_arrivals)
        self._coding.start()
        self._steps.push("codecs", self._stop_coding)

    def _collect_monitoring(self) -> Sequence[MonitorEndpoint]:
        """Collect what plugins have for monitoring, and return all documents."""
        well = HealthCheck(name="server", check=self._check_well)
        self._monitor.health_checks = self._plugins.health_checks(self.context, (well,))
        self._monitor.fields = self._plugins.monitor_fields(self.context)
        endpoints = self._plugins.monitor_endpoints(self.context, core_endpoints(self._monitor))
        self.context.endpoints.update({it.path: it for it in endpoints if it.path})
        self.status_fields = {it.status: it for it in endpoints if it.status}
        return endpoints

    def _accounts_changed(self, names: Sequence[str]) -> None:
        if self._follows_accounts:
            self._gate.receive_changed(names)
            self._system_account.follow_accounts()
            self.context.report_accounts(names)

    def _actor_system(self, name: str, failed: Callable[[BaseException], None]) -> ActorSystem:
        return ActorSystem(
            self._dispatcher,
            name=name,
            on_failure=lambda error: failed(self._failures.blame(error)),
            report=self._failures.receive,
        )

    async def _import(self, spec: ComponentSpec) -> None:
        """Import what a component needs, without holding the loop for all of it."""
        for name in spec.imports:
            try:
                await call_in_thread(import_module, name)
            except Exception as error:
                raise self._plugins.blame("component", spec.name, error, part=name) from error

    def _spawn(self, spec: ComponentSpec) -> ActorRef[Any]:
        kind, arguments = spec.factory(self.context)
        try:
            return self._system.spawn(
                kind, name=spec.name, supervision=spec.supervision, **arguments
            )
        except Exception as error:
            part = kind.__name__
            raise self._plugins.blame("component", spec.name, error, part=part) from error

    async def follow_policies(self) -> None:
        """Put up the gates and taps that plugins have now, and take others away.

        Raises:
            PluginError: One can't be; all is as it was.
        """
        specs = self._plugins.gates(self.context)
        gates = [(spec, self._account_of("gate", spec)) for spec in specs]
        taps = [(spec, self._account_of("tap", spec)) for spec in self._plugins.taps(self.context)]
        for spec in specs:
            self._check_port(spec)
        self.context.gates.follow(gates)
        await self._bridge.follow_taps(taps)

    def _check_port(self, spec: GateSpec) -> None:
        """Refuse a gate at which nobody would decide."""
        if spec.port and self.context.ports.owner_of(spec.port) != spec.plugin:
            problem = LookupError(f"its plugin has no port {spec.port}")
            raise self._plugins.blame("gate", spec.name, problem)

    def _account_of(self, kind: str, spec: TapSpec | GateSpec) -> int:
        try:
            return self.accounts.index(spec.account)
        except KeyError as error:
            problem = LookupError(f"unknown account {spec.account}")
            raise self._plugins.blame(kind, spec.name, problem) from error

    def open(self) -> None:
        """Accept connections, and write the PID and ports files.

        Raises:
            OSError: The process ID or the ports can't be written.
        """
        self._files.write(self.listeners.urls())
        self._steps.push("files", self._remove_files)
        self.client_info.publish()
        self._steps.push("system account", self._system_account.end)
        self.listeners.open()

    def tls_problems(
        self, config: ServerConfig, settings: ServerSettings
    ) -> Sequence[TopologyError]:
        """Return errors of the TLS settings of a new configuration."""
        try:
            self.tls.prepare(settings.tls)
        except TlsError as error:
            return [placed_tls_error(error, config)]
        return []

    def reload(self, config: ServerConfig, settings: ServerSettings) -> None:
        """Put a new configuration in force.

        Raises:
            TlsError: A certificate or its key can't be used; nothing has changed.
            OSError: The process ID or the ports can't be written; nothing has changed.
        """
        terms = self.tls.prepare(settings.tls)
        if self._files.paths != (files := _run_files(settings)).paths:
            files.write(self.listeners.urls())
            self._files.remove()
            self._files = files
        self._config, self._settings = config, settings
        self.context.replace_config(config)
        self.plane.set_limits(self._gate.limits(settings.limits))
        if settings.limits.max_connections:  # 0: no limit
            self._gate.keep_within(max(settings.limits.max_connections, 0))
        self._trace(settings)
        self.tls.configure(LinkKind.CLIENT, terms)
        self._tell_clients(settings)
        self._show_facts()

    def _trace(self, settings: ServerSettings) -> None:
        logs = settings.logs
        self.plane.trace(logs.trace, headers_only=logs.trace_headers, internal=logs.trace_verbose)

    def _tell_clients(self, settings: ServerSettings) -> None:
        """Put into INFO what settings say of it."""
        address = settings.client_advertise or self.context.addresses[LinkKind.CLIENT]
        self.client_info.set_address(*address)
        self.client_info.set_max_payload(settings.limits.max_payload)
        self.client_info.set_tls(settings.tls)

    async def tell_of_lame_duck(self, duration_s: float) -> None:
        """Notify plugins of lame duck mode, then send clients INFO."""
        self._system_account.tell_of_lame_duck()
        with self.client_info.held():
            self._plugins.lame_duck(self.context, duration_s)
            await self._turns_so_far()
            self.client_info.update({"ldm": True})

    async def follow_logins(self) -> None:
        """Return when a reload is in force for all clients, confirmed by the data plane."""
        self._ask_for_logins()
        await self._gate.recheck_all()
        self._gate.follow_quotas()
        await self._bridge.confirm()

    def _ask_for_logins(self) -> Sequence[Authenticator]:
        """Let clients in as the authenticators say that there are now, and return these."""
        authenticators = in_order(self._plugins.authenticators(self.context), self._config)
        self._gate.set(authenticators, self._settings)
        self._show_facts()
        return authenticators

    async def _start_monitor(self, endpoints: Sequence[MonitorEndpoint]) -> None:
        bound, settings = self.listeners.http_socket, self._settings
        downloads = self._plugins.downloads(self.context)
        if bound is None:
            return
        from framework.server.monitoring import start_monitor  # noqa: PLC0415 -- few have the port

        server = await start_monitor(
            endpoints,
            downloads,
            bound.sock,
            base_path=settings.http_base_path,
            tls=self.tls.monitor_context() if settings.https else None,
            turns=self._monitor.turns,
            log=self._log,
        )
        self._monitor.requests = server.request_counts
        self._steps.push("monitoring", server.stop)

    def _remove_files(self) -> None:
        self._files.remove()

    async def _stop_tls(self) -> None:
        await self.tls.stop(STOP_DEADLINE_S * 0.9)

    async def _stop_arrivals(self) -> None:
        await self._arrivals.stop(STOP_DEADLINE_S * 0.9)

    async def _stop_coding(self) -> None:
        await self._coding.stop(STOP_DEADLINE_S * 0.9)

    async def _stop_plane(self) -> None:
        await call_in_thread(self.plane.stop, STOP_DEADLINE_S)
        self._bridge.turn()

    async def _turns_so_far(self) -> None:
        """Return once the actors had every turn that waits for them now, their first among them."""
        over = asyncio.get_running_loop().create_future()
        self._dispatcher.call_soon(lambda: over.set_result(None))
        await over

    async def _stop_actors(self) -> None:
        left = await self._system.stop(STOP_DEADLINE_S * 0.9)
        self._dispatcher.close()
        for name in left:
            self._log.error("Component {component} did not stop in time", component=name)

    def _check_well(self) -> str | None:
        return None if self.is_well else "not accepting clients"

    def _carriers(self) -> Sequence[LinkTransport]:
        """Return who takes sockets of links, in the order in which they are asked."""
        return (self._coding, self._arrivals, self.tls)

    def _make_monitor(self) -> MonitorView:
        return MonitorView(
            self.context,
            facts=self.facts,
            plane=self.plane,
            clients=self.clients,
            accounts=self.accounts,
            client_info=self.client_info,
            user_kinds=self._kinds.users,
            quotas=self._gate.quotas,
            plugins=self._plugins,
            component_failures=self._failures.counts,
        )

    def _make_authentication(self) -> Authentication:
        return Authentication(
            plane=self.plane,
            context=self.context,
            accounts=self.accounts,
            client_info=self.client_info,
            settings=self._settings,
            remote_count=lambda account: self._remote_counts.total(account).clients,
            tls_peers=self.tls.peers,
            facts=self._arrivals.facts,
            ask_quotas=partial(self._plugins.quotas, self.context)
            if self._plugins.has_quotas
            else None,
            log=self._log,
        )

    def _make_system_account(self, reload: Callable[[], Awaitable[object]]) -> SystemAccount:
        return SystemAccount(
            self.context,
            source=self._monitor,
            clients=self.clients,
            watchers=self._gate.watchers,
            remote_counts=self._remote_counts,
            client_info=self.client_info,
            traits=self._traits,
            reload=reload,
            service_of=self.accounts.sampled.service_of,
        )

    def _traits(self) -> ServerTraits:
        return ServerTraits(
            host=self.facts.host, tags=self.facts.tags, metadata=self.facts.metadata
        )

    def _show_facts(self) -> None:
        self.facts = self._facts_now()
        self._monitor.replace_facts(self.facts)

    def _facts_now(self) -> ServerFacts:
        return facts_of(
            self._config,
            replace(self._settings, limits=self._gate.limits(self._settings.limits)),
            addresses=self.context.addresses,
            http=self.listeners.http_socket,
            tls=self.tls,
            started_ns=self._started_ns,
        )


def _client_info(
    plane: ServerPlane, identity: ServerIdentity, settings: ServerSettings
) -> ClientInfoDocument:
    """Return the INFO of clients, with the address that is configured."""
    advertised = settings.client_advertise or (settings.host, settings.port)
    return ClientInfoDocument(
        plane,
        identity,
        host=advertised[0],
        port=advertised[1],
        headers=settings.headers,
        max_payload=settings.limits.max_payload,
    )


def _run_files(settings: ServerSettings) -> RunFiles:
    """Return the files that settings ask for, unwritten."""
    return RunFiles(pid_file=settings.pid_file, ports_file_dir=settings.ports_file_dir)
