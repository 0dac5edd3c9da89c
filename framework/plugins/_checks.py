"""Check hook implementations for mistakes that pluggy lets pass."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from framework.errors import PluginError
from framework.plugins._places import definition_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pluggy


def check_arguments(manager: pluggy.PluginManager, plugin: Any, name: str, origin: str) -> None:
    """Check the implementations of a plugin, before it is registered.

    Raises:
        PluginError: One is `async def`, or takes an argument that its hook has not.
    """
    for hook, caller in _specified(manager).items():
        if manager.parse_hookimpl_opts(plugin, hook) is None or caller.spec is None:
            continue
        function = getattr(plugin, hook)
        place = definition_of(function) or origin
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            problem = f"{hook} is `async def`, and hooks are not awaited"
            fix = "make it `def`, and tell an actor what is to be done"
            raise PluginError(name, problem, origin=place, fix=fix)
        there = caller.spec.argnames
        wrong = [each for each in _arguments(function) if each not in there]
        if wrong:
            problem = f"{hook} takes {', '.join(wrong)}, which the hook has not"
            fix = f"it has {', '.join(there) or 'no arguments'}"
            raise PluginError(name, problem, origin=place, fix=fix)


def check_implementations(manager: pluggy.PluginManager, name: str, origin: str) -> None:
    """Check one registered plugin against all hooks that are specified.

    Raises:
        PluginError: It implements a hook that nobody specifies, wraps one, or forgot to mark an
            implementation.
    """
    plugin = manager.get_plugin(name)
    specified = _specified(manager)
    for caller in manager.get_hookcallers(plugin) or ():
        (mine,) = [each for each in caller.get_hookimpls() if each.plugin is plugin]
        place = definition_of(mine.function) or origin
        if caller.name not in specified and not mine.optionalhook:
            problem = f"no hook is named {caller.name}"
            raise PluginError(name, problem, origin=place, fix=_nearest(caller.name, specified))
        if mine.wrapper or mine.hookwrapper:
            problem, fix = f"{caller.name} is a wrapper", "return your own part"
            raise PluginError(name, problem, origin=place, fix=fix)
    for hook in specified:
        if _is_unmarked(manager, plugin, hook):
            problem, fix = f"{hook} is not marked", "put @hookimpl above it"
            place = definition_of(getattr(plugin, hook)) or origin
            raise PluginError(name, problem, origin=place, fix=fix)


def _arguments(function: Callable[..., object]) -> list[str]:
    """Return what pluggy will hand over: no `*args`, and nothing that has a default."""
    return [
        name
        for name, argument in inspect.signature(function).parameters.items()
        if argument.kind is argument.POSITIONAL_OR_KEYWORD and argument.default is argument.empty
    ]


def _specified(manager: pluggy.PluginManager) -> dict[str, pluggy.HookCaller]:
    return {name: caller for name, caller in vars(manager.hook).items() if caller.has_spec()}


def _nearest(unknown: str, specified: dict[str, pluggy.HookCaller]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - for mistakes only

    near = get_close_matches(unknown, specified, n=1, cutoff=0.8)
    return f"did you mean {near[0]}?" if near else "docs/HOOKS.md has them all"


def _is_unmarked(manager: pluggy.PluginManager, plugin: Any, hook: str) -> bool:
    # A module may specify hooks as well, and then holds their specifications.
    return (
        callable(getattr(plugin, hook, None))
        and manager.parse_hookimpl_opts(plugin, hook) is None
        and manager.parse_hookspec_opts(plugin, hook) is None
    )
