"""Choose and register the plugins of one server."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Self

import pluggy
from msgspec import Struct

from framework import hookspecs
from framework.errors import FrameworkError, PluginError
from framework.plugins._calls import HookCalls
from framework.plugins._checks import check_arguments, check_implementations
from framework.plugins._claims import CORE
from framework.plugins._loading import (
    STANDARD_PLUGINS,
    find_plugin,
    folder_plugins,
    installed_plugins,
    suggestion,
)
from framework.plugins._places import home_of, is_at_home, line_of, module_of, modules_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from framework.plugins._loading import FoundPlugin
    from framework.spec import HookOffer


class LoadedPlugin(Struct, frozen=True):
    """A plugin as `framework plugins` lists it."""

    name: str
    origin: str
    """A distribution and its version, a module, a file, or `embedded`."""
    file: str
    """The file that it was imported from; empty when there is none."""
    hooks: tuple[str, ...]
    """Names of the hooks that it implements."""
    version: str = ""
    """Of its distribution, or its module's `__version__`; empty: it has none."""


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
        self._versions: dict[str, str] = {}
        self.absent: tuple[str, ...] = ()
        """Plugins of the extra `standard` that are not installed, though nobody leaves them out."""
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
            PluginError: One can't be found or imported, or breaks the contract of a hook; one that
                is left out is not there.
        """
        plugins = cls(excluded=excluded)
        named, in_folder = list(names), [] if folder is None else folder_plugins(folder)
        offered = installed_plugins() if installed or plugins._excluded else {}
        plugins._check_excluded([*offered, *named, *(it.name for it in in_folder)])
        if installed:
            plugins._load_all(offered.values())
        plugins._load_all(find_plugin(name) for name in named if name not in plugins._excluded)
        plugins._load_all(in_folder)
        plugins.check()
        if installed:
            there = {*plugins._loaded, *plugins._excluded}
            plugins.absent = tuple(name for name in STANDARD_PLUGINS if name not in there)
        return plugins

    def register(
        self, plugin: object, name: str, *, origin: str = "embedded", version: str = ""
    ) -> None:
        """Add one plugin, unless it is excluded or is there already.

        Args:
            plugin: A module or an object; a class is instantiated, so that its state is this
                set's own.
            name: Unique in the set.
            origin: Where it came from, for people.
            version: Of its distribution; empty: what its module says.

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
            line = line_of(error, home_of(plugin))
            raise PluginError(name, problem, origin=line or place) from error
        self._loaded[name] = (plugin, origin)
        self._versions[name] = version or str(getattr(_module(plugin), "__version__", ""))

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
    def names(self) -> tuple[str, ...]:
        """The names of all plugins, in the order in which they were loaded."""
        return tuple(self._loaded)

    def owner_of_code(self, function: object) -> str:
        """Return the plugin in whose code a function or class stands; empty: it is in none's."""
        return self._owner_of_module(module_of(function))

    def blame_code(self, error: BaseException) -> PluginError | None:
        """Return an error as the fault of the plugin whose code it came from; None: of none."""
        for module, place in modules_of(error):
            if plugin := self._owner_of_module(module):
                problem = f"failed: {type(error).__name__}: {error}"
                return PluginError(plugin, problem, origin=place)
        return None

    @contextlib.contextmanager
    def attributing(self) -> Iterator[None]:
        """Name the plugin where what is done in here fails in one's code, outside of any hook.

        Raises:
            PluginError: Instead of what was raised, unless that says by itself what is wrong.
        """
        try:
            yield
        except (FrameworkError, OSError):
            raise
        except Exception as error:
            if blamed := self.blame_code(error):
                raise blamed from error
            raise

    def _owner_of_module(self, module: str) -> str:
        for name, (plugin, _) in self._loaded.items():
            if is_at_home(module, home_of(plugin)):
                return name
        return ""

    @property
    def plugins(self) -> tuple[LoadedPlugin, ...]:
        """All plugins, in the order in which they were registered."""
        return tuple(
            LoadedPlugin(name, origin, _file(plugin), self._hooks(name), self._versions[name])
            for name, (plugin, origin) in self._loaded.items()
        )

    def _check_excluded(self, known: list[str]) -> None:
        """Refuse to leave out what nobody has: it is a slip, and what was meant would be loaded."""
        for name in sorted(self._excluded.difference(known)):
            raise PluginError(name, "is not there to be left out", fix=suggestion(name, known))

    def _load_all(self, found: Iterable[FoundPlugin]) -> None:
        for plugin in found:
            if plugin.name not in self._excluded:
                loaded, version = plugin.load(), plugin.version
                self.register(loaded, plugin.name, origin=plugin.origin, version=version)

    def _hooks(self, name: str) -> tuple[str, ...]:
        callers = self._manager.get_hookcallers(self._manager.get_plugin(name)) or []
        return tuple(sorted(caller.name for caller in callers))


def _file(plugin: object) -> str:
    """Return the file of a module, or of the module of a class or an object."""
    return getattr(_module(plugin), "__file__", None) or ""


def _module(plugin: object) -> object:
    return sys.modules.get(getattr(plugin, "__module__", ""), plugin)
