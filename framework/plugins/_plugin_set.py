"""Which plugins one server has; their hooks are called in `_registry`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self

import pluggy
from msgspec import Struct

from framework import hookspecs
from framework.errors import PluginError
from framework.plugins._calls import HookCalls
from framework.plugins._checks import check_arguments, check_implementations
from framework.plugins._claims import CORE
from framework.plugins._loading import find_plugin, folder_plugins, installed_plugins

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from framework.plugins._loading import FoundPlugin
    from framework.spec import HookOffer


class LoadedPlugin(Struct, frozen=True):
    """What `framework plugins` shows."""

    name: str
    origin: str
    """A distribution and its version, a module, a file, or `embedded`."""
    file: str
    """The file that it was imported from; empty when there is none."""
    hooks: tuple[str, ...]
    """Names of the hooks that it implements."""


class PluginSet:
    """The plugins of one server; two sets in one process know nothing of each other.

    Args:
        excluded: Names of plugins that are not loaded even when asked for.
    """

    def __init__(self, *, excluded: Iterable[str] = ()) -> None:
        self._excluded = frozenset(excluded)
        self._manager = pluggy.PluginManager(CORE)
        self._manager.add_hookspecs(hookspecs)
        self.calls = HookCalls(self._manager)
        """For hooks that have no method here; those that plugins offer to each other."""
        self._loaded: dict[str, tuple[object, str]] = {}
        offer: HookOffer = self.calls
        self._manager.hook.framework_addhooks.call_historic(kwargs={"hooks": offer})

    @classmethod
    def load(
        cls,
        names: Iterable[str] = (),
        *,
        excluded: Iterable[str] = (),
        folder: Path | None = None,
        installed: bool = True,
    ) -> Self:
        """Return a set of the plugins that the user chose, all checked.

        Args:
            names: What `--plugin` or the list of a topology names: entry points, modules, paths.
            excluded: What `--no-plugin` names; it wins.
            folder: Every `*.py` in it is a plugin.
            installed: Load what installed distributions offer, too.

        Raises:
            PluginError: One can't be found or imported, or breaks the contract of a hook.
        """
        plugins = cls(excluded=excluded)
        if installed:
            plugins._load_all(installed_plugins().values())
        plugins._load_all(find_plugin(name) for name in names if name not in plugins._excluded)
        if folder is not None:
            plugins._load_all(folder_plugins(folder))
        plugins.check()
        return plugins

    def register(self, plugin: object, name: str, *, origin: str = "embedded") -> None:
        """Add one plugin, unless it is excluded or is there already.

        Args:
            plugin: A module or an object; a class is instantiated, so that its state is this
                set's own.
            name: Unique in the set.
            origin: Where it came from, for people.

        Raises:
            PluginError: Its name is taken, one of its hooks takes a wrong argument, or it fails.
        """
        if name in self._excluded or any(plugin is there for there, _ in self._loaded.values()):
            return
        if name in self._loaded:
            raise PluginError(
                name, f"is loaded already, from {self._loaded[name][1]}", origin=origin
            )
        place = _file(plugin) or origin
        try:
            instance = plugin() if isinstance(plugin, type) else plugin
            check_arguments(self._manager, instance, name, place)
            self._manager.register(instance, name)
        except PluginError:
            raise
        except Exception as error:
            problem = f"cannot be registered: {type(error).__name__}: {error}"
            raise PluginError(name, problem, origin=place) from error
        self._loaded[name] = (plugin, origin)

    def check(self) -> None:
        """Check every plugin against the hooks that there are.

        Raises:
            PluginError: One implements a hook that nobody specifies, wraps a hook, or forgot to
                mark an implementation.
        """
        for plugin in self.plugins:
            check_implementations(self._manager, plugin.name, plugin.file or plugin.origin)
        self._manager.check_pending()

    @property
    def plugins(self) -> tuple[LoadedPlugin, ...]:
        """All plugins, in the order in which they were registered."""
        return tuple(
            LoadedPlugin(name, origin, _file(plugin), self._hooks(name))
            for name, (plugin, origin) in self._loaded.items()
        )

    def _load_all(self, found: Iterable[FoundPlugin]) -> None:
        for plugin in found:
            if plugin.name not in self._excluded:
                self.register(plugin.load(), plugin.name, origin=plugin.origin)

    def _hooks(self, name: str) -> tuple[str, ...]:
        callers = self._manager.get_hookcallers(self._manager.get_plugin(name)) or []
        return tuple(sorted(caller.name for caller in callers))


def _file(plugin: object) -> str:
    """Return the file of a module, or of the module of a class or an object."""
    module = sys.modules.get(getattr(plugin, "__module__", ""), plugin)
    return getattr(module, "__file__", None) or ""
