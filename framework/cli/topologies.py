"""Load a topology with the plugins that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.topology import Schema, TopologyErrors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from framework.cli.plugin_choice import PluginChoice
    from framework.plugins import PluginRegistry
    from framework.topology import ServerConfig, Topology


def load_topology(file: str, choice: PluginChoice) -> tuple[Topology, PluginRegistry]:
    """Read a topology and load its plugins.

    Raises:
        TopologyErrors: All that is wrong with the file.
        PluginError: A plugin can't be loaded.
    """
    from framework.topology import open_topology  # noqa: PLC0415 - one server has no topology

    opened = open_topology(file)
    registry = choice.registry(opened.plugins)
    with registry.attributing():
        schema = Schema(registry.config_sections())
        topology = opened.plan(schema, registry.plan_topology())
        check_topology(topology, registry)
    return topology, registry


def check_topology(topology: Topology, registry: PluginRegistry) -> None:
    """Let the plugins look at a topology as a whole.

    Raises:
        TopologyErrors: What they found wrong.
    """
    errors = registry.check_topology(topology)
    if errors:
        raise TopologyErrors(errors)


def check_start_files(configs: Iterable[ServerConfig]) -> None:
    """Read what a start of servers would read, of those that can run on this machine.

    Raises:
        TopologyErrors: A file is missing, or is not what it should be.
    """
    from framework.server.start_files import (  # noqa: PLC0415 -- builds on compiled code
        is_of_this_machine,
        start_file_errors,
    )

    unique = {
        (error.place, error.problem): error
        for config in configs
        if is_of_this_machine(config)
        for error in start_file_errors(config)
    }
    if unique:
        raise TopologyErrors(unique.values())
