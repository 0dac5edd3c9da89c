"""Call hooks: notices, choices and collections, isolated from each other's errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.errors import PluginError
from framework.plugins._guard import Guard
from framework.plugins._places import definition_of, home_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    import pluggy
    from structlog.typing import FilteringBoundLogger


class HookCalls:
    """Call the hooks of one plugin manager, and name the plugin whose implementation failed.

    pluggy's own call stops at the first error and does not say whose it was; so implementations
    are taken from pluggy in its order, and called here.

    Args:
        manager: Holds the hook specifications and the plugins of one server.
    """

    def __init__(self, manager: pluggy.PluginManager) -> None:
        self._manager = manager
        self.guard = Guard(lambda plugin: home_of(manager.get_plugin(plugin)))
        """Calls what hooks return as well: taps, endpoints, authenticators."""

    def add_hookspecs(self, namespace: ModuleType | type) -> None:
        """Add every function of `namespace` (a module, or a class) that `hookspec` marks."""
        self._manager.add_hookspecs(namespace)

    def describe(self, hook: str, /, **arguments: object) -> list[tuple[str, object]]:
        """Call an assembly hook; return (plugin, answer) of all who gave one.

        Raises:
            PluginError: One of them failed; it is named.
        """
        answers = [
            (implementation.plugin_name, self.call(hook, implementation, arguments))
            for implementation in self.implementations(hook)
        ]
        return [(plugin, answer) for plugin, answer in answers if answer is not None]

    def choose(self, hook: str, /, **arguments: object) -> tuple[str, object] | None:
        """Call a choice hook; return (plugin, answer) of the first plugin that answered.

        Raises:
            PluginError: One of those that were asked failed; it is named.
        """
        for implementation in self.implementations(hook):
            answer = self.call(hook, implementation, arguments)
            if answer is not None:
                return implementation.plugin_name, answer
        return None

    def notify(self, log: FilteringBoundLogger, hook: str, /, **arguments: object) -> None:
        """Call a notice hook: failures are logged and counted, and the others are called."""
        for implementation in self.implementations(hook):
            try:
                self.call(hook, implementation, arguments)
            except PluginError as error:
                self.guard.report(hook, error, log)

    def implementations(self, hook: str) -> list[pluggy.HookImpl]:
        """Return the implementations of `hook` in the order in which they are called."""
        caller: pluggy.HookCaller = getattr(self._manager.hook, hook)
        return caller.get_hookimpls()[::-1]

    def place_of(self, hook: str, plugin: str) -> str:
        """Return `file:line` of a plugin's implementation of `hook`."""
        for implementation in self.implementations(hook):
            if implementation.plugin_name == plugin:
                return definition_of(implementation.function)
        return ""

    def call(
        self, hook: str, implementation: pluggy.HookImpl, arguments: Mapping[str, object]
    ) -> object:
        """Call one implementation with those of `arguments` that it takes.

        Raises:
            PluginError: It failed; the error is its cause.
        """
        taken = [arguments[name] for name in implementation.argnames]
        return self.guard.call(implementation.plugin_name, hook, implementation.function, *taken)
