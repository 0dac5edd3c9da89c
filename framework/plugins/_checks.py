"""What pluggy lets pass and a plugin's author would search for long."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from framework.errors import PluginError

if TYPE_CHECKING:
    import pluggy


def check_plugin(manager: pluggy.PluginManager, name: str, origin: str) -> None:
    """Check one registered plugin against all hooks that are specified.

    Raises:
        PluginError: It implements a hook that nobody specifies, wraps one, or forgot to mark an
            implementation.
    """
    plugin = manager.get_plugin(name)
    callers = manager.get_hookcallers(plugin) or []
    for caller in callers:
        for implementation in caller.get_hookimpls():
            if implementation.plugin is not plugin:
                continue
            if not caller.has_spec() and not implementation.optionalhook:
                raise PluginError(
                    name,
                    f"no hook is named {caller.name}",
                    origin=origin,
                    fix=_nearest(manager, caller),
                )
            if implementation.wrapper or implementation.hookwrapper:
                raise PluginError(
                    name, f"{caller.name} is a wrapper", origin=origin, fix="return your own part"
                )
    for hook in _specified(manager) - {caller.name for caller in callers}:
        if _is_unmarked(manager, plugin, hook):
            raise PluginError(
                name, f"{hook} is not marked", origin=origin, fix="put @hookimpl above it"
            )


def _specified(manager: pluggy.PluginManager) -> set[str]:
    callers = vars(manager.hook).values()
    return {caller.name for caller in callers if caller.has_spec()}


def _nearest(manager: pluggy.PluginManager, unknown: pluggy.HookCaller) -> str:
    near = difflib.get_close_matches(unknown.name, sorted(_specified(manager)), n=1, cutoff=0.8)
    return f"did you mean {near[0]}?" if near else "docs/HOOKS.md has them all"


def _is_unmarked(manager: pluggy.PluginManager, plugin: Any, hook: str) -> bool:
    method = getattr(plugin, hook, None)
    # A module may specify hooks as well, and then holds their specifications.
    return callable(method) and manager.parse_hookspec_opts(plugin, hook) is None
