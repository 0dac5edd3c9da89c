"""A typed method for every hook of the core."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from framework.dataplane import Core, PlaneLimits
from framework.dataplane.kinds import KIND_TRAITS
from framework.errors import PluginError
from framework.plugins._claims import CORE, check_claims, check_orders, start_order
from framework.plugins._guarding import (
    guarded_authenticator,
    guarded_check,
    guarded_component,
    guarded_download,
    guarded_endpoint,
    guarded_fields,
    guarded_service,
    guarded_tap,
)
from framework.plugins._plugin_set import PluginSet
from framework.spec import (
    AccountPlan,
    Authenticator,
    ComponentSpec,
    CompressionMode,
    DownloadSpec,
    GateSpec,
    HealthCheck,
    LinkKindSpec,
    ListenerSpec,
    MonitorEndpoint,
    MonitorFields,
    PortSpec,
    ProcessSpec,
    RefusedAddresses,
    ServiceSpec,
    StatusSection,
    TapSpec,
    TransportSpec,
)
from framework.spec.addresses import ADDRESS_TABLES_MAX
from framework.spec.quota import Quota
from framework.spec.status import CORE_COLUMNS
from framework.topology.errors import TopologyError
from framework.topology.option import ConfigSection
from framework.topology.planner import TopologyPlanner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.plugins._guard import Guard
    from framework.plugins._usage import CallCounters
    from framework.spec import (
        ClosedState,
        CommandGroup,
        ConnectionInfo,
        ServerContext,
        StopReason,
    )
    from framework.topology import ConfigDiff, ServerConfig, Topology

T = TypeVar("T")


class PluginRegistry(PluginSet):
    """The plugins of one server, and their hooks.

    The methods named after hooks call them on all plugins, check what comes back, and put what the
    core itself has first. Each raises PluginError when a plugin fails, answers with the wrong
    thing, or claims what is another's; those of notices never raise.
    """

    def __init__(self, *, excluded: Iterable[str] = ()) -> None:
        super().__init__(excluded=excluded)
        self._owners: dict[tuple[str, str], str] = {}

    def log_to(self, log: FilteringBoundLogger) -> None:
        """Say in `log` from now on what fails in plugins, and what holds up the server."""
        self.calls.guard.log_to(log)

    def owner_of(self, kind: str, name: str) -> str:
        """Return the plugin that a `component`, `tap`, ... belongs to; empty: it is the core's."""
        owner = self._owners.get((kind, name), CORE)
        return "" if owner == CORE else owner

    def blame(
        self,
        kind: str,
        name: str,
        error: BaseException,
        *,
        part: str = "",
    ) -> BaseException:
        """Return what to raise for an error in what a plugin has handed over.

        Args:
            kind: As in `owner_of`.
            name: As in `owner_of`.
            error: What came of it.
            part: Of it, such as `on_start`; empty: it as a whole.
        """
        owner = self.owner_of(kind, name)
        if not owner or isinstance(error, PluginError):
            return error
        what = f"{kind} {name}: {part}" if part else f"{kind} {name}"
        blamed = self.calls.guard.blame(owner, what, error)
        blamed.origin = blamed.origin or self.calls.place_of(f"framework_{kind}s", owner)
        blamed.__cause__ = error
        return blamed

    def guard_tap(self, spec: TapSpec) -> TapSpec:
        """Return a tap that somebody adds while the server runs, guarded if a plugin does."""
        owner = self.owner_of_code(spec.receive)
        return guarded_tap(self.calls.guard, owner, spec) if owner else spec

    @cached_property
    def compression_modes(self) -> Mapping[str, CompressionMode]:
        """The modes of all plugins by name."""
        found = self._collect("compression_modes", CompressionMode)
        modes = _items(self._claimed("compression mode", (), found, lambda mode: mode.name))
        return {mode.name: mode for mode in modes}

    def usage(self, plugin: str) -> Mapping[str, CallCounters]:
        """Return what a plugin was called for so far: by hook, or such as `tap audit`."""
        return self.calls.guard.usage.of(plugin)

    def config_sections(self) -> tuple[ConfigSection, ...]:
        """Return the sections of all plugins, each with its owner; the schema sees to conflicts."""
        modes = self.compression_modes
        found = self._collect("config_sections", ConfigSection, compression_modes=modes)
        # In the order of loading: of two that claim one key, the schema blames the later one.
        found.sort(key=lambda item: self.names.index(item[0]))
        return tuple(replace(section, plugin=plugin) for plugin, section in found)

    def plan_topology(self) -> tuple[TopologyPlanner, ...]:
        """Return what the plugins need of the servers of a topology, in the order of loading."""
        from framework.topology.ports import all_slots  # noqa: PLC0415 - one server has none

        found = self._collect("plan_topology", TopologyPlanner)
        found.sort(key=lambda item: self.names.index(item[0]))
        core = [(CORE, slot.name) for slot in all_slots(())]
        claims = [(plugin, slot.name) for plugin, planner in found for slot in planner.slots]
        check_claims("port slot", [*core, *claims], loaded=self.names)
        return tuple(planner for _, planner in found)

    def status_sections(self) -> tuple[StatusSection, ...]:
        """Return what plugins show of servers in `framework run`, in the order of loading."""
        found = self._collect("status_sections", StatusSection)
        found.sort(key=lambda item: self.names.index(item[0]))
        fields = [(plugin, section.field) for plugin, section in found]
        check_claims("status section", fields, loaded=self.names)
        columns = [(plugin, it.title) for plugin, section in found for it in section.columns]
        core = [(CORE, title) for title in CORE_COLUMNS]
        check_claims("status column", [*core, *columns], loaded=self.names)
        return _items(found)

    def topology_processes(self, topology: Topology) -> tuple[ProcessSpec, ...]:
        """Return what runs beside the servers of a topology, in the order of loading."""
        found = self._collect("topology_processes", ProcessSpec, topology=topology)
        found.sort(key=lambda item: self.names.index(item[0]))
        servers = [(CORE, plan.name) for plan in topology.servers]
        processes = [(plugin, spec.name) for plugin, spec in found]
        check_claims("process", [*servers, *processes], loaded=self.names)
        return _items(found)

    def add_commands(self, group_of: Callable[[str], CommandGroup]) -> None:
        """Let plugins add subcommands.

        Args:
            group_of: Makes the group of a plugin, from its name; called for plugins with commands.
        """
        for implementation in self.calls.implementations("framework_add_commands"):
            cli = group_of(implementation.plugin_name)
            self.calls.call("framework_add_commands", implementation, {"cli": cli})

    def check_topology(self, topology: Topology) -> tuple[TopologyError, ...]:
        """Return what the plugins find wrong."""
        found = self._collect("check_topology", TopologyError, topology=topology)
        return tuple(error for _, error in found)

    def link_kinds(self, config: ServerConfig) -> tuple[LinkKindSpec, ...]:
        """Return the kinds of links that plugins add."""
        found = self._collect("link_kinds", LinkKindSpec, config=config)
        own = [LinkKindSpec(kind=kind, traits=traits) for kind, traits in KIND_TRAITS.items()]
        owned = self._claimed("link kind", own, found, lambda spec: spec.kind.name)
        for plugin, spec in found:
            try:
                Core(PlaneLimits(), kinds={spec.kind: spec.traits}, reserved=spec.reserved)
            except ValueError as error:
                origin = self.calls.place_of("framework_link_kinds", plugin)
                problem = f"link kind {spec.kind.name}: {error}"
                raise PluginError(plugin, problem, origin=origin) from error
        return tuple(spec for plugin, spec in owned if plugin != CORE)

    def components(
        self, server: ServerContext, core: Sequence[ComponentSpec] = ()
    ) -> tuple[ComponentSpec, ...]:
        """Return all components in the order of their start; to stop, go backwards."""
        found = self._collect("components", ComponentSpec, server=server)
        owned = self._claimed("component", core, found, lambda spec: spec.name)
        return start_order(self._guarded(owned, guarded_component))

    def listeners(
        self,
        server: ServerContext,
        core: Sequence[ListenerSpec] = (),
        *,
        components: Iterable[ComponentSpec],
    ) -> tuple[ListenerSpec, ...]:
        """Return all listeners.

        Args:
            server: For the hook.
            core: The core's own.
            components: All that run: every listener is owned by one of them.
        """
        found = self._collect("listeners", ListenerSpec, server=server)
        owned = self._claimed("listener of kind", core, found, lambda spec: spec.kind.name)
        names = {spec.name for spec in components}
        for plugin, spec in owned:
            if spec.owner not in names:
                raise PluginError(
                    plugin,
                    f"a listener belongs to {spec.owner}, which is no component",
                    origin=self.calls.place_of("framework_listeners", plugin),
                )
        return _items(owned)

    def transports(self, server: ServerContext) -> tuple[TransportSpec, ...]:
        """Return all transports, each with its owner."""
        found = self._collect("transports", TransportSpec, server=server)
        owned = self._claimed("transport", (), found, lambda spec: spec.name)
        return tuple(replace(spec, plugin=plugin) for plugin, spec in owned)

    def server_key(self, config: ServerConfig) -> str | None:
        """Return the public key that a plugin has drawn for the server; None: none did."""
        return self._choose("server_key", str, config=config)

    def accounts(self, server: ServerContext) -> AccountPlan | None:
        """Return the accounts that a plugin has planned; None: none did."""
        return self._choose("accounts", AccountPlan, server=server)

    def services(
        self, server: ServerContext, core: Sequence[ServiceSpec] = ()
    ) -> tuple[ServiceSpec, ...]:
        """Return all services."""
        found = self._collect("services", ServiceSpec, server=server)
        owned = self._claimed("service", core, found, lambda spec: spec.name)
        return _items(self._guarded(owned, guarded_service))

    def authenticators(self, server: ServerContext) -> tuple[Authenticator, ...]:
        """Return all authenticators, in the order in which they are asked."""
        found = self._collect("authenticators", Authenticator, server=server)
        owned = self._claimed("authenticator", (), found, lambda spec: spec.name)
        return _items(self._guarded(owned, guarded_authenticator))

    @property
    def has_quotas(self) -> bool:
        """Whether a plugin says how much clients may publish."""
        return bool(self.calls.implementations("framework_quotas"))

    def quotas(self, server: ServerContext, client: ConnectionInfo) -> Sequence[Quota]:
        """Return what plugins say of how much a client may publish; nothing when one fails."""
        try:
            found = self._collect("quotas", Quota, server=server, client=client)
        except PluginError as error:
            self.calls.guard.report("framework_quotas", error)
            return ()
        return _items(found)

    def taps(self, server: ServerContext) -> tuple[TapSpec, ...]:
        """Return all taps."""
        found = self._collect("taps", TapSpec, server=server)
        owned = self._claimed("tap", (), found, lambda spec: spec.name)
        return _items(self._guarded(owned, guarded_tap))

    def gates(self, server: ServerContext) -> tuple[GateSpec, ...]:
        """Return all gates."""
        found = self._collect("gates", GateSpec, server=server)
        owned = self._claimed("gate", (), found, lambda spec: spec.name)
        owned.sort(key=lambda item: self.names.index(item[0]))  # the later one is blamed
        check_orders(owned)
        return tuple(replace(spec, plugin=plugin) for plugin, spec in owned)

    def ports(self, server: ServerContext) -> tuple[PortSpec, ...]:
        """Return all ports."""
        found = self._collect("ports", PortSpec, server=server)
        owned = self._claimed("port", (), found, lambda spec: spec.name)
        return tuple(replace(spec, plugin=plugin) for plugin, spec in owned)

    def refused_addresses(self, server: ServerContext) -> tuple[RefusedAddresses, ...]:
        """Return all tables of addresses that are refused."""
        found = self._collect("refused_addresses", RefusedAddresses, server=server)
        owned = self._claimed("refused addresses", (), found, lambda spec: spec.name)
        if len(owned) > ADDRESS_TABLES_MAX:
            plugin = owned[ADDRESS_TABLES_MAX][0]
            problem = f"there are {len(owned)} RefusedAddresses, at most {ADDRESS_TABLES_MAX} fit"
            raise PluginError(plugin, problem, fix="put ranges of one plugin into one of them")
        return tuple(replace(spec, plugin=plugin) for plugin, spec in owned)

    def monitor_endpoints(
        self, server: ServerContext, core: Sequence[MonitorEndpoint] = ()
    ) -> tuple[MonitorEndpoint, ...]:
        """Return all documents about the server."""
        found = self._collect("monitor_endpoints", MonitorEndpoint, server=server)
        taken = {name for _, endpoint in found for name in _endpoint_names(endpoint)}
        own = [it for it in core if not it.is_fallback or taken.isdisjoint(_endpoint_names(it))]
        owned = [*((CORE, endpoint) for endpoint in own), *found]
        claims = ((plugin, name) for plugin, it in owned for name in _endpoint_names(it))
        check_claims("endpoint", claims, loaded=self.names)
        return _items(self._guarded(owned, guarded_endpoint))

    def downloads(self, server: ServerContext) -> tuple[DownloadSpec, ...]:
        """Return all folders of files that are made while they are sent."""
        found = self._collect("downloads", DownloadSpec, server=server)
        owned = self._claimed("download", (), found, lambda spec: spec.folder)
        return _items(self._guarded(owned, guarded_download))

    def monitor_fields(self, server: ServerContext) -> tuple[MonitorFields, ...]:
        """Return the fields of plugins in documents of the core."""
        found = self._collect("monitor_fields", MonitorFields, server=server)
        claims = ((plugin, f"{it.document} {name}") for plugin, it in found for name in it.names)
        check_claims("field", claims, loaded=self.names)
        return _items(self._guarded(found, guarded_fields))

    def health_checks(
        self, server: ServerContext, core: Sequence[HealthCheck] = ()
    ) -> tuple[HealthCheck, ...]:
        """Return all health checks."""
        found = self._collect("health_checks", HealthCheck, server=server)
        owned = self._claimed("health check", core, found, lambda check: check.name)
        return _items(self._guarded(owned, guarded_check))

    def server_info(self, server: ServerContext, core: Iterable[str] = ()) -> dict[str, object]:
        """Return the INFO fields of all plugins.

        Args:
            server: For the hook.
            core: Names of the fields that the core sets itself.
        """
        claims = [(CORE, name) for name in core]
        merged: dict[str, object] = {}
        for plugin, fields in self.calls.describe("framework_server_info", server=server):
            if not isinstance(fields, Mapping):
                problem = f"framework_server_info must return a mapping, not {fields!r:.80}"
                place = self.calls.place_of("framework_server_info", plugin)
                raise PluginError(plugin, problem, origin=place)
            claims += [(plugin, name) for name in fields]
            merged.update(fields)
        check_claims("INFO field", claims, loaded=self.names)
        return merged

    def server_started(self, server: ServerContext) -> None:
        """Tell the plugins."""
        self.calls.notify(server.log, "framework_server_started", server=server)

    def server_stopping(self, server: ServerContext, reason: StopReason) -> None:
        """Tell the plugins."""
        self.calls.notify(server.log, "framework_server_stopping", server=server, reason=reason)

    def check_reload(self, server: ServerContext, diff: ConfigDiff) -> tuple[TopologyError, ...]:
        """Return what speaks against a reload."""
        found = self._collect("check_reload", TopologyError, server=server, diff=diff)
        return tuple(error for _, error in found)

    def reloaded(self, server: ServerContext, diff: ConfigDiff) -> None:
        """Tell the plugins."""
        self.calls.notify(server.log, "framework_reloaded", server=server, diff=diff)

    def lame_duck(self, server: ServerContext, duration_s: float) -> None:
        """Tell the plugins."""
        self.calls.notify(server.log, "framework_lame_duck", server=server, duration_s=duration_s)

    def accounts_changed(self, server: ServerContext, names: Sequence[str]) -> None:
        """Tell the plugins."""
        self.calls.notify(server.log, "framework_accounts_changed", server=server, names=names)

    def connection_opened(self, server: ServerContext, connection: ConnectionInfo) -> None:
        """Tell the plugins."""
        self.calls.notify(
            server.log, "framework_connection_opened", server=server, connection=connection
        )

    def connection_closed(
        self, server: ServerContext, connection: ConnectionInfo, reason: ClosedState
    ) -> None:
        """Tell the plugins."""
        self.calls.notify(
            server.log,
            "framework_connection_closed",
            server=server,
            connection=connection,
            reason=reason,
        )

    def _choose(self, hook: str, kind: type[T], **arguments: object) -> T | None:
        """Call a choice hook that returns one `kind`, or None."""
        chosen = self.calls.choose(f"framework_{hook}", **arguments)
        if chosen is None:
            return None
        plugin, answer = chosen
        if not isinstance(answer, kind):
            problem = f"framework_{hook} must return a {kind.__name__}, not {answer!r:.80}"
            place = self.calls.place_of(f"framework_{hook}", plugin)
            raise PluginError(plugin, problem, origin=place)
        return answer

    def _collect(self, hook: str, kind: type[T], **arguments: object) -> list[tuple[str, T]]:
        """Call an assembly hook that returns iterables; return (plugin, item) of every item."""
        collected: list[tuple[str, T]] = []
        for plugin, answer in self.calls.describe(f"framework_{hook}", **arguments):
            items = answer if isinstance(answer, Iterable) else (answer,)
            for item in items:
                if not isinstance(item, kind):
                    problem = f"framework_{hook} must return {kind.__name__}s, not {item!r:.80}"
                    place = self.calls.place_of(f"framework_{hook}", plugin)
                    raise PluginError(plugin, problem, origin=place)
                collected.append((plugin, item))
        return collected

    def _claimed(
        self, kind: str, core: Sequence[T], found: list[tuple[str, T]], name: Callable[[T], str]
    ) -> list[tuple[str, T]]:
        """Return (owner, item) of the core's items and those found; each has its name alone."""
        owned = [*((CORE, item) for item in core), *found]
        claims = ((plugin, name(item)) for plugin, item in owned)
        check_claims(kind, claims, loaded=self.names)
        self._owners |= {(kind, name(item)): plugin for plugin, item in owned}
        return owned

    def _guarded(
        self, owned: Iterable[tuple[str, T]], guard: Callable[[Guard, str, T], T]
    ) -> list[tuple[str, T]]:
        """Return the same with those of plugins guarded."""
        return [
            (plugin, item if plugin == CORE else guard(self.calls.guard, plugin, item))
            for plugin, item in owned
        ]


def _endpoint_names(endpoint: MonitorEndpoint) -> Iterable[str]:
    """Return in how many ways a document may be asked for."""
    names = {
        "path": endpoint.path,
        "request": endpoint.request,
        "account request": endpoint.account_request,
        "status field": endpoint.status,
    }
    return [f"{kind} {name}" for kind, name in names.items() if name]


def _items(owned: Iterable[tuple[str, T]]) -> tuple[T, ...]:
    return tuple(item for _, item in owned)
