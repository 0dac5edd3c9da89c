"""The plugins of one server, and a typed method for every hook of the core."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import pluggy

from framework import hookspecs
from framework.errors import PluginError
from framework.plugins._calls import HookCalls
from framework.plugins._checks import check_plugin
from framework.plugins._claims import CORE, check_claims, start_order
from framework.plugins._loading import find_plugin, folder_plugins, installed_plugins
from framework.spec import (
    ComponentSpec,
    HealthCheck,
    ListenerSpec,
    MonitorEndpoint,
    TapSpec,
)
from framework.topology.errors import TopologyError
from framework.topology.option import ConfigSection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from framework.plugins._loading import FoundPlugin
    from framework.spec import (
        ClosedState,
        CommandGroup,
        ConnectionInfo,
        ServerContext,
        StopReason,
    )
    from framework.topology import Topology

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LoadedPlugin:
    """What `framework plugins` shows."""

    name: str
    origin: str
    """A distribution and its version, a module, a file, or `embedded`."""
    file: str
    """The file that it was imported from; empty when there is none."""
    hooks: tuple[str, ...]
    """Names of the hooks that it implements."""


class PluginRegistry:
    """The plugins of one server; two registries in one process know nothing of each other.

    The methods named after hooks call them on all plugins, check what comes back, and put what the
    core itself has first. Each raises PluginError when a plugin fails, answers with the wrong
    thing, or claims what is another's.

    Args:
        excluded: Names of plugins that are not loaded even when asked for.
    """

    def __init__(self, *, excluded: Iterable[str] = ()) -> None:
        self._excluded = frozenset(excluded)
        self._manager = pluggy.PluginManager(CORE)
        self._manager.add_hookspecs(hookspecs)
        self._calls = HookCalls(self._manager)
        self._loaded: dict[str, tuple[object, str]] = {}
        self._manager.hook.framework_addhooks.call_historic(kwargs={"hooks": self._calls})

    @classmethod
    def load(
        cls,
        names: Iterable[str] = (),
        *,
        excluded: Iterable[str] = (),
        folder: Path | None = None,
        installed: bool = True,
    ) -> PluginRegistry:
        """Return a registry of the plugins that the user chose, all checked.

        Args:
            names: What `--plugin` or the list of a topology names: entry points, modules, paths.
            excluded: What `--no-plugin` names; it wins.
            folder: Every `*.py` in it is a plugin.
            installed: Load what installed distributions offer, too.

        Raises:
            PluginError: One can't be found or imported, or breaks the contract of a hook.
        """
        registry = cls(excluded=excluded)
        if installed:
            registry._load_all(installed_plugins().values())
        registry._load_all(find_plugin(name) for name in names if name not in registry._excluded)
        if folder is not None:
            registry._load_all(folder_plugins(folder))
        registry.check()
        return registry

    def register(self, plugin: object, name: str, *, origin: str = "embedded") -> None:
        """Add one plugin, unless it is excluded or is there already.

        Args:
            plugin: A module or an object; a class is instantiated, so that its state is this
                registry's own.
            name: Unique in the registry.
            origin: Where it came from, for people.

        Raises:
            PluginError: Its name is taken, or a hook of it has a wrong argument or is a wrapper.
        """
        if name in self._excluded or any(plugin is there for there, _ in self._loaded.values()):
            return
        if name in self._loaded:
            raise PluginError(
                name, f"is loaded already, from {self._loaded[name][1]}", origin=origin
            )
        try:
            instance = plugin() if isinstance(plugin, type) else plugin
            self._manager.register(instance, name)
        except Exception as error:
            problem = f"cannot be registered: {' '.join(str(error).split())}"
            raise PluginError(name, problem, origin=_file(plugin) or origin) from error
        self._loaded[name] = (plugin, origin)

    def check(self) -> None:
        """Check every plugin against the hooks that there are.

        Raises:
            PluginError: One implements a hook that nobody specifies, wraps a hook, or forgot to
                mark an implementation.
        """
        for plugin in self.plugins:
            check_plugin(self._manager, plugin.name, plugin.file or plugin.origin)
        self._manager.check_pending()

    @property
    def plugins(self) -> tuple[LoadedPlugin, ...]:
        """All plugins, in the order in which they were registered."""
        return tuple(
            LoadedPlugin(name, origin, _file(plugin), self._hooks(name))
            for name, (plugin, origin) in self._loaded.items()
        )

    @property
    def notice_failures(self) -> Mapping[str, int]:
        """How many notice hooks have failed, by plugin."""
        return self._calls.notice_failures

    def config_sections(self) -> tuple[ConfigSection, ...]:
        """Return the sections of all plugins, each with its owner; the schema sees to conflicts."""
        found = self._collect("config_sections", ConfigSection)
        return tuple(replace(section, plugin=plugin) for plugin, section in found)

    def add_commands(self, group_of: Callable[[str], CommandGroup]) -> None:
        """Let plugins add subcommands.

        Args:
            group_of: Makes the group of a plugin, from its name; called for plugins with commands.
        """
        for implementation in self._calls.implementations("framework_add_commands"):
            cli = group_of(implementation.plugin_name)
            self._calls.call("framework_add_commands", implementation, {"cli": cli})

    def check_topology(self, topology: Topology) -> tuple[TopologyError, ...]:
        """Return what the plugins find wrong."""
        found = self._collect("check_topology", TopologyError, topology=topology)
        return tuple(error for _, error in found)

    def components(
        self, server: ServerContext, core: Sequence[ComponentSpec] = ()
    ) -> tuple[ComponentSpec, ...]:
        """Return all components in the order of their start; to stop, go backwards."""
        found = self._collect("components", ComponentSpec, server=server)
        return start_order(_claimed("component", core, found, lambda spec: spec.name))

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
        owned = _claimed("listener of kind", core, found, lambda spec: spec.kind.name)
        names = {spec.name for spec in components}
        for plugin, spec in owned:
            if spec.owner not in names:
                raise PluginError(
                    plugin, f"a listener belongs to {spec.owner}, which is no component"
                )
        return _items(owned)

    def taps(self, server: ServerContext) -> tuple[TapSpec, ...]:
        """Return all taps."""
        found = self._collect("taps", TapSpec, server=server)
        return _items(_claimed("tap", (), found, lambda spec: spec.name))

    def monitor_endpoints(
        self, server: ServerContext, core: Sequence[MonitorEndpoint] = ()
    ) -> tuple[MonitorEndpoint, ...]:
        """Return all paths of the monitoring port."""
        found = self._collect("monitor_endpoints", MonitorEndpoint, server=server)
        return _items(_claimed("path", core, found, lambda endpoint: endpoint.path))

    def health_checks(
        self, server: ServerContext, core: Sequence[HealthCheck] = ()
    ) -> tuple[HealthCheck, ...]:
        """Return all health checks."""
        found = self._collect("health_checks", HealthCheck, server=server)
        return _items(_claimed("health check", core, found, lambda check: check.name))

    def server_info(self, server: ServerContext, core: Iterable[str] = ()) -> dict[str, object]:
        """Return the INFO fields of all plugins.

        Args:
            server: For the hook.
            core: Names of the fields that the core sets itself.
        """
        claims = [(CORE, name) for name in core]
        merged: dict[str, object] = {}
        for plugin, fields in self._calls.describe("framework_server_info", server=server):
            if not isinstance(fields, Mapping):
                raise PluginError(
                    plugin, f"framework_server_info must return a mapping, not {fields!r:.80}"
                )
            claims += [(plugin, name) for name in fields]
            merged.update(fields)
        check_claims("INFO field", claims)
        return merged

    def server_started(self, server: ServerContext) -> None:
        """Tell the plugins."""
        self._calls.notify(server.log, "framework_server_started", server=server)

    def server_stopping(self, server: ServerContext, reason: StopReason) -> None:
        """Tell the plugins."""
        self._calls.notify(server.log, "framework_server_stopping", server=server, reason=reason)

    def connection_opened(self, server: ServerContext, connection: ConnectionInfo) -> None:
        """Tell the plugins."""
        self._calls.notify(
            server.log, "framework_connection_opened", server=server, connection=connection
        )

    def connection_closed(
        self, server: ServerContext, connection: ConnectionInfo, reason: ClosedState
    ) -> None:
        """Tell the plugins."""
        self._calls.notify(
            server.log,
            "framework_connection_closed",
            server=server,
            connection=connection,
            reason=reason,
        )

    def _load_all(self, found: Iterable[FoundPlugin]) -> None:
        for plugin in found:
            if plugin.name not in self._excluded:
                self.register(plugin.load(), plugin.name, origin=plugin.origin)

    def _hooks(self, name: str) -> tuple[str, ...]:
        callers = self._manager.get_hookcallers(self._manager.get_plugin(name)) or []
        return tuple(sorted(caller.name for caller in callers))

    def _collect(self, hook: str, kind: type[T], **arguments: object) -> list[tuple[str, T]]:
        """Call an assembly hook that returns iterables; return (plugin, item) of every item."""
        collected: list[tuple[str, T]] = []
        for plugin, answer in self._calls.describe(f"framework_{hook}", **arguments):
            items = answer if isinstance(answer, Iterable) else (answer,)
            for item in items:
                if not isinstance(item, kind):
                    problem = f"framework_{hook} must return {kind.__name__}s, not {item!r:.80}"
                    raise PluginError(plugin, problem)
                collected.append((plugin, item))
        return collected


def _claimed(
    kind: str, core: Sequence[T], found: list[tuple[str, T]], name: Callable[[T], str]
) -> list[tuple[str, T]]:
    """Return (owner, item) of the core's items and those found, after each got its name alone."""
    owned = [*((CORE, item) for item in core), *found]
    check_claims(kind, ((plugin, name(item)) for plugin, item in owned))
    return owned


def _items(owned: Iterable[tuple[str, T]]) -> tuple[T, ...]:
    return tuple(item for _, item in owned)


def _file(plugin: object) -> str:
    """Return the file of a module, or of the module of a class or an object."""
    module = sys.modules.get(getattr(plugin, "__module__", ""), plugin)
    return getattr(module, "__file__", None) or ""
