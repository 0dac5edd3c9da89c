"""Hooks that a plugin offers to other plugins."""

from __future__ import annotations

from types import ModuleType
from typing import Protocol

from framework.spec.logger import FilteringBoundLogger


class HookOffer(Protocol):
    """Call hooks of this server: the core's, and those that plugins added."""

    def add_hookspecs(self, namespace: ModuleType | type) -> None:
        """Add every function of `namespace` (a module, or a class) that `hookspec` marks."""
        ...

    def describe(self, hook: str, /, **arguments: object) -> list[tuple[str, object]]:
        """Call an assembly hook; return (plugin, answer) of all who gave one.

        Raises:
            PluginError: One of them failed; it is named.
        """
        ...

    def choose(self, hook: str, /, **arguments: object) -> tuple[str, object] | None:
        """Call a choice hook; return (plugin, answer) of the first plugin that answered.

        Raises:
            PluginError: One of those that were asked failed; it is named.
        """
        ...

    def notify(self, log: FilteringBoundLogger, hook: str, /, **arguments: object) -> None:
        """Call a notice hook: failures are logged and counted, and the others are called."""
        ...
