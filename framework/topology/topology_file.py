"""Read a topology file: TOML, HOCON, or a nats-server file for one server."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from framework.topology.collection import no_collections
from framework.topology.conversion import convert_value
from framework.topology.errors import Mistakes, TopologyError, TopologyErrors
from framework.topology.hocon_file import node_from_hocon
from framework.topology.natsconf import load_conf
from framework.topology.natsconf.loading import read_text
from framework.topology.node import Node
from framework.topology.option import ConfigSection, Kind, Option
from framework.topology.place import Place
from framework.topology.plan import plan_clusters
from framework.topology.planner import TopologyPlanner
from framework.topology.ports import all_slots
from framework.topology.schema import Schema
from framework.topology.server_config import configure
from framework.topology.spelling import rename_keys
from framework.topology.topology import ServerPlan, Topology

__all__ = ["TOPOLOGY_BLOCK", "TopologyFile", "open_topology", "read_topology"]

_NAME = Option(name="name", kind=Kind.STRING, help="Name of the topology; the file's if not set")
_PLUGINS = Option(
    name="plugins",
    kind=Kind.STRINGS,
    help="Plugins that every server loads; all that are installed if not set",
)
TOPOLOGY_BLOCK = Option(
    name="topology",
    kind=Kind.BLOCK,
    help="What stands at the top of a topology",
    options=(
        _NAME,
        _PLUGINS,
        Option(
            name="defaults",
            kind=Kind.FREE,
            help="Settings of every server; a text may hold `{server}` and `{cluster}`, which"
            " stand for the names, and a port counts up from server to server",
        ),
        Option(
            name="clusters",
            kind=Kind.FREE,
            help="Blocks named after clusters, with settings of all servers of the cluster,"
            " and `servers`",
        ),
    ),
)


class TopologyFile(Struct, frozen=True):
    """A topology that was read but not planned: its plugins must be loaded first."""

    file: str
    """The file, as the user named it."""
    root: Node
    name: str
    plugins: tuple[str, ...] | None
    """What the file says; None when it says nothing."""

    @no_collections()
    def plan(
        self,
        sections: Iterable[ConfigSection] | Schema = (),
        planners: Sequence[TopologyPlanner] = (),
    ) -> Topology:
        """Work out every server of the topology.

        Args:
            sections: What the plugins declare, or the schema made of it.
            planners: What the plugins need of the servers.

        Raises:
            TopologyErrors: All that is wrong, each with its place.
        """
        schema = sections if isinstance(sections, Schema) else Schema(sections)
        if _is_conf(self.file):
            config = configure(schema, [self.root], file=self.file)
            servers = [ServerPlan(str(config.values["server_name"] or self.name), "", config)]
        else:
            servers = plan_clusters(self.root, schema, self.file, planners)
        return Topology(
            self.name,
            self.file,
            self.plugins,
            tuple(servers),
            tuple(_variables(self.root)),
            all_slots(planners),
        )


@no_collections()
def open_topology(path: str | os.PathLike[str]) -> TopologyFile:
    """Read a topology as far as it can be understood without its plugins.

    Args:
        path: A file ending in `.toml`, `.hocon`, `.json`, or `.conf` (one server, nats-server's
            language).

    Raises:
        TopologyErrors: It cannot be read, or its first level makes no sense.
    """
    name = str(path)
    root = _load(Path(path), name)
    stem = Path(path).stem
    if _is_conf(name):
        return TopologyFile(name, root, stem, None)
    mistakes = Mistakes()
    top = rename_keys(TOPOLOGY_BLOCK, root, mistakes)
    assert isinstance(top.value, dict)
    said: dict[str, object] = {}
    for option in (_NAME, _PLUGINS):
        node = top.value.get(option.name)
        try:
            said[option.name] = convert_value(option, node) if node else None
        except ValueError as error:
            assert node
            mistakes.add(node.place, f"`{option.name}`: {error}")
    mistakes.raise_if_any()
    plugins = said["plugins"]
    assert plugins is None or isinstance(plugins, tuple)
    return TopologyFile(name, top, str(said["name"] or stem), plugins)


def read_topology(
    path: str | os.PathLike[str],
    sections: Iterable[ConfigSection] | Schema = (),
    planners: Sequence[TopologyPlanner] = (),
) -> Topology:
    """Read and plan a topology whose plugins are known: `open_topology` and `plan` in one."""
    return open_topology(path).plan(sections, planners)


def _variables(node: Node) -> Iterator[Place]:
    """Yield where variables of the environment stand."""
    if node.place.variable:
        yield node.place
    elif isinstance(node.value, dict | list):
        items = node.value.values() if isinstance(node.value, dict) else node.value
        for item in items:
            yield from _variables(item)


def _is_conf(name: str) -> bool:
    return Path(name).suffix == ".conf"


def _load(path: Path, name: str) -> Node:
    match path.suffix:
        case ".conf":
            return load_conf(name)
        case ".toml":
            from framework.topology.toml_file import node_from_toml  # noqa: PLC0415 - unless TOML is read

            return node_from_toml(_read(path, name), name)
        case ".hocon" | ".json":  # JSON is HOCON, too
            return node_from_hocon(_read(path, name), name, path.parent)
    problem = f"unknown file type `{path.suffix}`"
    fix = "a topology ends in .toml, .hocon or .json, a nats-server configuration in .conf"
    raise TopologyErrors([TopologyError(Place(name), problem, fix)])


def _read(path: Path, name: str) -> str:
    text = read_text(path, name, Place(name))
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise TopologyErrors([TopologyError(Place(name, line), "not UTF-8")]) from None
    return text
