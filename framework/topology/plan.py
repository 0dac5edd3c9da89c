"""Plan the servers of a topology's clusters.

defaults -> cluster -> server     settings laid over each other, see `member`
names, ports, routes              worked out from the file alone, see `ports` and `routes`
values                            of all that together, see `reading`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from framework.topology.digest import digest_of
from framework.topology.errors import Mistakes
from framework.topology.limits import SERVERS_MAX
from framework.topology.member import Member
from framework.topology.node import Node, describe_type, merge_nodes, table_from_plain
from framework.topology.option import Kind, Option
from framework.topology.place import DERIVED_PLACE
from framework.topology.ports import LOOPBACK, assign_ports
from framework.topology.routes import derive_cluster_block
from framework.topology.server_config import read_values
from framework.topology.spelling import rename_keys
from framework.topology.topology import ServerPlan

if TYPE_CHECKING:
    from framework.topology.schema import Schema

__all__ = ["SERVERS_OPTION", "plan_clusters"]

SERVERS_OPTION = Option(
    name="servers",
    kind=Kind.FREE,
    help="How many servers, named after the cluster and numbered from 1; or blocks named after"
    " them, with the settings of each",
)


def plan_clusters(top: Node, schema: Schema, file: str) -> list[ServerPlan]:
    """Work out every server.

    Args:
        top: The first level of the file, its keys checked.
        schema: The options that servers have.
        file: The file, as the user named it.

    Raises:
        TopologyErrors: All that is wrong.
    """
    mistakes = Mistakes()
    members = _read_members(top, schema, mistakes)
    _check_names(members, mistakes)
    mistakes.raise_if_any()
    assign_ports(members, schema, mistakes)
    for name in dict.fromkeys(member.cluster for member in members):
        derive_cluster_block([m for m in members if m.cluster == name], schema, mistakes)
    plans = [
        ServerPlan(
            member.name,
            member.cluster,
            read_values(
                schema, member.whole(), mistakes, file=file, digest=digest_of(member.settings)
            ),
        )
        for member in members
    ]
    mistakes.raise_if_any()
    return plans


def _read_members(top: Node, schema: Schema, mistakes: Mistakes) -> list[Member]:
    assert isinstance(top.value, dict)
    nothing = Node({}, top.place)
    base = table_from_plain({"host": LOOPBACK}, DERIVED_PLACE)
    defaults = merge_nodes(base, schema.rename(top.value.get("defaults", nothing), mistakes))
    clusters = top.value.get("clusters")
    if clusters is None or not isinstance(clusters.value, dict) or not clusters.value:
        place = clusters.place if clusters else top.place
        mistakes.add(place, "a topology needs a cluster", "for example [clusters.main]")
        return []
    members: list[Member] = []
    cluster_block = replace(schema.root, options=(*schema.root.options, SERVERS_OPTION))
    for name, node in clusters.value.items():
        block = rename_keys(cluster_block, node, mistakes, schema.explain_unknown)
        assert isinstance(block.value, dict)
        servers = block.value.pop("servers", Node(1, block.place))
        for server, own in _named_servers(name, servers, mistakes):
            renamed = schema.rename(own, mistakes)
            settings = merge_nodes(merge_nodes(defaults, block), renamed)
            members.append(_member(server, name, renamed, settings))
    return members


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


def _member(name: str, cluster: str, own: Node, settings: Node) -> Member:
    assert isinstance(settings.value, dict)
    said = settings.value.get("server_name")
    if said and isinstance(said.value, str):
        name = said.value
    member = Member(name, cluster, own, _fill_in(settings, name, cluster))
    if not said:
        member.derive("", "server_name", name)
    return member


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


def _check_names(members: list[Member], mistakes: Mistakes) -> None:
    if len(members) > SERVERS_MAX:
        mistakes.add(members[SERVERS_MAX].own.key_place, f"more than {SERVERS_MAX} servers")
    seen: dict[str, Member] = {}
    for member in members:
        other = seen.setdefault(member.name, member)
        if other is not member:
            problem = f"two servers are named {member.name}, in the clusters {other.cluster}"
            mistakes.add(member.own.key_place, f"{problem} and {member.cluster}")
        for what, name in (("server", member.name), ("cluster", member.cluster)):
            if not name or any(char.isspace() for char in name):
                mistakes.add(member.own.key_place, f"{what} name `{name}` cannot contain spaces")
