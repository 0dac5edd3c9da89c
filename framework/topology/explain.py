"""Describe a topology without starting it: the output of `framework check`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from framework.topology.option import Kind
from framework.topology.planner import PortSlot
from framework.topology.server_config import ServerConfig, walk_values
from framework.topology.topology import ServerPlan, Topology
from framework.topology.units import join_address
from framework.topology.values import show_value

__all__ = ["explain_topology", "topology_document"]

_VALUE_WIDTH_MAX = 48


def explain_topology(topology: Topology) -> str:
    """Return a text that shows each server: its ports, and every setting with its origin.

    Options that nobody set are left out; the reference tells their defaults.
    """
    plugins = "all installed" if topology.plugins is None else ", ".join(topology.plugins)
    lines = [
        f"topology {topology.name} ({topology.file})",
        f"plugins: {plugins or 'none'}",
    ]
    for cluster, servers in topology.clusters.items():
        if cluster:
            count = f"{len(servers)} servers" if len(servers) > 1 else "1 server"
            lines += ["", f"cluster {cluster}: {count}"]
        for plan in servers:
            lines += ["", *_explain_server(plan, topology.slots)]
    return "\n".join(lines) + "\n"


def topology_document(topology: Topology) -> dict[str, object]:
    """Return what `explain_topology` tells, for programs; secrets are not shown there either."""
    return {
        "topology": topology.name,
        "file": topology.file,
        "plugins": topology.plugins,
        "servers": [
            {
                "name": plan.name,
                "cluster": plan.cluster,
                "ports": dict(_addresses(plan.config, topology.slots)),
                "settings": {
                    path: {"value": value, "origin": origin}
                    for path, value, origin in _settings(plan.config)
                },
            }
            for plan in topology.servers
        ],
    }


def _explain_server(plan: ServerPlan, slots: Iterable[PortSlot]) -> Iterator[str]:
    yield f"  server {plan.name}"
    for what, address in _addresses(plan.config, slots):
        yield f"    {what + ' port':<16} {address}"
    rows = list(_settings(plan.config))
    path_width = max((len(path) for path, _, _ in rows), default=0)
    value_width = min(max((len(value) for _, value, _ in rows), default=0), _VALUE_WIDTH_MAX)
    for path, value, origin in rows:
        yield f"      {path:<{path_width}}  {value:<{value_width}}  {origin}"


def _addresses(config: ServerConfig, slots: Iterable[PortSlot]) -> Iterator[tuple[str, str]]:
    """Yield each kind of port that the server listens on, with the address."""
    for slot in slots:
        block = config.section(slot.block) if slot.block else config.values
        if block and block.get(slot.listen):
            host, port = cast("tuple[str, int]", block[slot.listen])
            yield slot.name, join_address(host, port) if port else f"{host}, any free port"


def _settings(config: ServerConfig) -> Iterator[tuple[str, str, str]]:
    """Yield path, value and origin of every option that somebody set."""
    for path, option, value in walk_values(config):
        if path in config.places and option.kind is not Kind.BLOCK:
            yield path, show_value(option, value), str(config.places[path])
