"""Who owns which name; a name that two want stops the start."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from framework.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from framework.spec import ComponentSpec

CORE = "framework"
"""Stands for the core where an owner is named."""


def check_claims(kind: str, claims: Iterable[tuple[str, str]]) -> None:
    """Check that every name has one owner.

    Args:
        kind: What is named, such as `component`; for the error.
        claims: (owner, name), the core's first.

    Raises:
        PluginError: A name has two owners, who are both named, or one owner twice.
    """
    owners: dict[str, str] = {}
    for plugin, name in claims:
        owner = owners.get(name)
        if owner == plugin:
            raise PluginError(plugin, f"{kind} {name} is declared twice")
        if owner is not None:
            title = "the core" if owner == CORE else f"plugin {owner}"
            problem = f"{kind} {name} belongs to {title} already"
            raise PluginError(plugin, problem, fix=f"leave one out: --no-plugin {plugin}")
        owners[name] = plugin


def start_order(owned: Sequence[tuple[str, ComponentSpec]]) -> tuple[ComponentSpec, ...]:
    """Return components so that each comes after all that it requires.

    Args:
        owned: (plugin, component), each name once.

    Raises:
        PluginError: A requirement is missing, or components require each other in a circle.
    """
    specs = {spec.name: spec for _, spec in owned}
    for plugin, spec in owned:
        for requirement in spec.requires:
            if requirement not in specs:
                raise PluginError(
                    plugin,
                    f"component {spec.name} requires {requirement}, which no loaded plugin has",
                    fix=f"load the plugin that has it; there are {', '.join(sorted(specs))}",
                )
    sorter = TopologicalSorter({name: spec.requires for name, spec in specs.items()})
    try:
        return tuple(specs[name] for name in sorter.static_order())
    except CycleError as error:
        circle: list[str] = error.args[1][::-1]
        owner = next(plugin for plugin, spec in owned if spec.name == circle[0])
        raise PluginError(
            owner, f"components are in a circle: {' requires '.join(circle)}"
        ) from None
