"""Claims of names by plugins; two claims of one name stop the start."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from typing import TYPE_CHECKING

from framework.errors import PluginError
from framework.wire.overlap import overlaps

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from framework.spec import ComponentSpec, GateSpec

CORE = "framework"
"""Stands for the core where an owner is named."""


def check_claims(
    kind: str, claims: Iterable[tuple[str, str]], *, loaded: Sequence[str] = ()
) -> None:
    """Check that every name has one owner.

    Args:
        kind: What is named, such as `component`; for the error.
        claims: (owner, name).
        loaded: The plugins in the order in which they were loaded; of two that want one name,
            the one that came last is blamed.

    Raises:
        PluginError: A name has two owners, who are both named, or one owner twice.
    """
    owners: dict[str, str] = {}
    seen: set[str] = set()
    for plugin, name in claims:
        owner = owners.setdefault(name, plugin)
        if owner != plugin:
            raise _two_owners(f"{kind} {name}", [owner, plugin], loaded)
        if name in seen:
            raise PluginError(plugin, f"{kind} {name} is declared twice")
        seen.add(name)


def _two_owners(what: str, owners: list[str], loaded: Sequence[str]) -> PluginError:
    order = [CORE, *loaded]
    first, last = sorted(owners, key=lambda owner: order.index(owner) if owner in order else 1)
    if first == CORE:
        problem, fix = f"{what} belongs to the core", f"leave it out: --no-plugin {last}"
    else:
        problem = f"{what} belongs to plugin {first} already, which was loaded before it"
        fix = f"leave one out: --no-plugin {first} or --no-plugin {last}"
    return PluginError(last, problem, fix=fix)


def check_orders(owned: Sequence[tuple[str, GateSpec]]) -> None:
    """Check that of any two gates on a subject one is the first.

    Args:
        owned: (plugin, gate).

    Raises:
        PluginError: Two gates of one account, whose subjects overlap, have one order.
    """
    for (owner, first), (plugin, second) in combinations(owned, 2):
        if (first.account, first.order) == (second.account, second.order) and overlaps(
            first.subject.encode(), second.subject.encode()
        ):
            problem = f"gate {second.name} and gate {first.name} of plugin {owner} are both order"
            fix = "give one of them another order, or subjects that do not overlap"
            raise PluginError(plugin, f"{problem} {first.order} on {second.subject}", fix=fix)


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
