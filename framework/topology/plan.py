"""Plan the servers of a topology's clusters.

defaults -> cluster -> server     settings laid over each other
names, ports                      worked out from the file alone, see `ports`
what plugins need                 derived by their planners, see `planner`
values                            of all that together, see `reading`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from framework.topology.digest import digest_of
from framework.topology.errors import Mistakes, TopologyError
from framework.topology.foreign import JOINING_PLUGIN
from framework.topology.limits import SERVERS_MAX
from framework.topology.node import Node, describe_type, merge_nodes, table_from_plain
from framework.topology.option import Kind, Option
from framework.topology.place import DERIVED_PLACE
from framework.topology.planner import Derived, DraftServer
from framework.topology.ports import LOOPBACK, all_slots, assign_ports
from framework.topology.server_config import read_values
from framework.topology.spelling import rename_keys
from framework.topology.topology import ServerPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from framework.topology.planner import TopologyPlanner
    from framework.topology.schema import Schema

__all__ = ["SERVERS_OPTION", "plan_clusters"]

SERVERS_OPTION = Option(
    name="servers",
    kind=Kind.FREE,
    help="How many servers, named after the cluster and numbered from 1; or blocks named after"
    " them, with the settings of each",
)


def plan_clusters(
    top: Node, schema: Schema, file: str, planners: Sequence[TopologyPlanner] = ()
) -> list[ServerPlan]:
    """Work out every server.

    Args:
        top: The first level of the file, its keys checked.
        schema: The options that servers have.
        file: The file, as the user named it.
        planners: What plugins need of the servers.

    Raises:
        TopologyErrors: All that is wrong.
    """
    mistakes = Mistakes()
    servers = _read_servers(top, schema, mistakes)
    _check_names(servers, mistakes)
    mistakes.raise_if_any()
    if not any(planner.joins_clusters for planner in planners):
        _refuse_clusters(servers, mistakes)
    servers, ports = assign_ports(servers, all_slots(planners), mistakes)
    derived = {server.name: server.settings for server in servers}
    for each in (*ports, *_derive(servers, planners, mistakes)):
        derived[each.server.name] = merge_nodes(derived[each.server.name], _node_of(each))
    plans = [
        ServerPlan(
            server.name,
            server.cluster,
            read_values(
                schema,
                Node(derived[server.name].value, server.settings.place, server.settings.key_place),
                mistakes,
                file=file,
                digest=digest_of(server.settings),
            ),
        )
        for server in servers
    ]
    mistakes.raise_if_any()
    return plans


def _derive(
    servers: Sequence[DraftServer], planners: Iterable[TopologyPlanner], mistakes: Mistakes
) -> list[Derived]:
    """Return names and what plugins derive, but for what the file says itself."""
    found = [each for planner in planners for each in planner.derive(servers)]
    mistakes.extend(each for each in found if isinstance(each, TopologyError))
    named = [Derived(server, "server_name", server.name) for server in servers]
    derived = [*named, *(each for each in found if isinstance(each, Derived))]
    return [each for each in derived if each.server.said(each.path) is None]


def _node_of(derived: Derived) -> Node:
    node = table_from_plain(derived.value, DERIVED_PLACE)
    for key in reversed(derived.path.split(".")):
        node = Node({key: node}, DERIVED_PLACE)
    return node


def _refuse_clusters(servers: Sequence[DraftServer], mistakes: Mistakes) -> None:
    """Refuse clusters of several servers, where no plugin connects these."""
    for name in dict.fromkeys(server.cluster for server in servers):
        members = [server for server in servers if server.cluster == name]
        if len(members) > 1:
            problem = f"cluster {name} has {len(members)} servers"
            fix = f'add "{JOINING_PLUGIN}" to `plugins`, or install it'
            needed = f"which needs the {JOINING_PLUGIN} plugin"
            mistakes.add(members[1].place, f"{problem}, {needed}", fix)


def _read_servers(top: Node, schema: Schema, mistakes: Mistakes) -> list[DraftServer]:
    assert isinstance(top.value, dict)
    nothing = Node({}, top.place)
    base = table_from_plain({"host": LOOPBACK}, DERIVED_PLACE)
    defaults = merge_nodes(base, schema.rename(top.value.get("defaults", nothing), mistakes))
    clusters = top.value.get("clusters")
    if clusters is None or not isinstance(clusters.value, dict) or not clusters.value:
        place = clusters.place if clusters else top.place
        mistakes.add(place, "a topology needs a cluster", "for example [clusters.main]")
        return []
    found: list[DraftServer] = []
    cluster_block = replace(schema.root, options=(*schema.root.options, SERVERS_OPTION))
    for name, node in clusters.value.items():
        block = rename_keys(cluster_block, node, mistakes, schema.explain_unknown)
        assert isinstance(block.value, dict)
        servers = block.value.pop("servers", Node(1, block.place))
        for server, own in _named_servers(name, servers, mistakes):
            renamed = schema.rename(own, mistakes)
            settings = merge_nodes(merge_nodes(defaults, block), renamed)
            found.append(_draft(server, name, renamed, settings))
    return found


def _named_servers(cluster: str, servers: Node, mistakes: Mistakes) -> list[tuple[str, Node]]:
    match servers.value:
        case dict() as named if named:
            found = list(named.items())
        case int() as count if not isinstance(count, bool) and 1 <= count <= SERVERS_MAX:
            return [(f"{cluster}-{n}", Node({}, servers.place)) for n in range(1, count + 1)]
        case value:
            expected = f"expected a number from 1 to {SERVERS_MAX}, or blocks named after servers"
            mistakes.add(servers.place, f"`servers`: {expected}, found {describe_type(value)}")
            return []
    if len(found) > SERVERS_MAX:
        mistakes.add(servers.place, f"more than {SERVERS_MAX} servers")
    return found[:SERVERS_MAX]


def _draft(name: str, cluster: str, own: Node, settings: Node) -> DraftServer:
    assert isinstance(settings.value, dict)
    said = settings.value.get("server_name")
    if said and isinstance(said.value, str):
        name = said.value
    return DraftServer(name, cluster, own, _fill_in(settings, name, cluster))


def _fill_in(node: Node, server: str, cluster: str) -> Node:
    """Replace `{server}` and `{cluster}` in every text."""
    match node.value:
        case str() as text if "{" in text:
            text = text.replace("{server}", server).replace("{cluster}", cluster)
            return Node(text, node.place, node.key_place)
        case dict() as table:
            filled = {key: _fill_in(item, server, cluster) for key, item in table.items()}
            return Node(filled, node.place, node.key_place)
        case list() as items:
            return Node([_fill_in(item, server, cluster) for item in items], node.place)
        case _:
            return node


def _check_names(servers: list[DraftServer], mistakes: Mistakes) -> None:
    if len(servers) > SERVERS_MAX:
        mistakes.add(servers[SERVERS_MAX].place, f"more than {SERVERS_MAX} servers")
    seen: dict[str, DraftServer] = {}
    for server in servers:
        other = seen.setdefault(server.name, server)
        if other is not server:
            problem = f"two servers are named {server.name}, in the clusters {other.cluster}"
            mistakes.add(server.place, f"{problem} and {server.cluster}")
        for what, name in (("server", server.name), ("cluster", server.cluster)):
            if not name or any(char.isspace() for char in name):
                mistakes.add(server.place, f"{what} name `{name}` cannot contain spaces")
