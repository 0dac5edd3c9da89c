"""What servers of one topology should agree on: gates and quotas, each for its own server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.topology import TopologyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from framework.plugins import LoadedPlugin
    from framework.topology import ServerPlan, Topology

POLICY_HOOKS: Final = frozenset({"framework_gates", "framework_quotas"})
"""Of what they return, each server holds its own clients to its own."""


def differing_policies(
    topology: Topology, plugins: Iterable[LoadedPlugin]
) -> Iterator[TopologyError]:
    """Yield a warning for each block of a plugin with such hooks that servers do not share."""
    owners = {it.name for it in plugins if not POLICY_HOOKS.isdisjoint(it.hooks)}
    for first, *others in filter(None, [topology.servers]):
        for section in first.config.schema.sections:
            if section.plugin not in owners:
                continue
            for other in others:
                if other.config.section(section.name) != first.config.section(section.name):
                    yield _difference(section.name, first, other)
                    break


def _difference(block: str, first: ServerPlan, other: ServerPlan) -> TopologyError:
    at = first if first.config.section(block) is not None else other
    return TopologyError(
        at.config.source(block),
        f"`{block}` differs between {first.name} and {other.name}: its plugin has gates or quotas, "
        "and what one server refuses or changes another lets in",
        "put it where all servers have it",
    )
