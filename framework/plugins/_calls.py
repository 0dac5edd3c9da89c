"""The three kinds of hook call, each with the isolation that its contract promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from framework.errors import PluginError

if TYPE_CHECKING:
    from types import ModuleType

    import pluggy
    from structlog.typing import FilteringBoundLogger


class HookCalls:
    """Calls the hooks of one plugin manager, and always knows whose implementation failed.

    pluggy's own call stops at the first error and does not say whose it was; so implementations
    are taken from pluggy in its order, and called here.

    Args:
        manager: Holds the hook specifications and the plugins of one server.
    """

    def __init__(self, manager: pluggy.PluginManager) -> None:
        self._manager = manager
        self.notice_failures: Counter[str] = Counter()
        """Notices that failed, by plugin."""

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
        """Call a choice hook; return (plugin, answer) of the first who gave one.

        Raises:
            PluginError: One of those that were asked failed; it is named.
        """
        for implementation in self.implementations(hook):
            answer = self.call(hook, implementation, arguments)
            if answer is not None:
                return implementation.plugin_name, answer
        return None

    def notify(self, log: FilteringBoundLogger, hook: str, /, **arguments: object) -> None:
        """Call a notice hook: who fails is logged and counted, the others are told."""
        for implementation in self.implementations(hook):
            try:
                self.call(hook, implementation, arguments)
            except PluginError as error:
                self.notice_failures[error.plugin] += 1
                log.exception(
                    "Plugin {plugin} failed in {hook}",
                    plugin=error.plugin,
                    hook=hook,
                    exc_info=error.__cause__,
                )

    def implementations(self, hook: str) -> list[pluggy.HookImpl]:
        """Return the implementations of `hook` in the order in which they are called."""
        caller: pluggy.HookCaller = getattr(self._manager.hook, hook)
        return caller.get_hookimpls()[::-1]

    def call(
        self, hook: str, implementation: pluggy.HookImpl, arguments: Mapping[str, object]
    ) -> object:
        """Call one implementation with those of `arguments` that it takes.

        Raises:
            PluginError: It failed; the error is its cause.
        """
        taken = [arguments[name] for name in implementation.argnames]
        try:
            answer = implementation.function(*taken)
            # A generator fails while it is read, which must happen in here.
            return tuple(answer) if isinstance(answer, Iterator) else answer
        except Exception as error:
            raise PluginError(
                implementation.plugin_name, f"{hook} failed: {type(error).__name__}: {error}"
            ) from error
