"""Plan the servers of a topology's clusters.

defaults -> cluster -> server     settings laid over each other
names, ports, routes              worked out from the file alone, see `ports` and `routes`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from framework.topology.digest import digest_of
from framework.topology.limits import SERVERS_MAX
from framework.topology.node import Node, describe_type, table_from_plain
from framework.topology.option import Kind, Option
from framework.topology.place import DERIVED_PLACE
from framework.topology.ports import ANY_PORT, LOOPBACK, SLOTS, Ports, said_address
from framework.topology.reading import Mistakes, merge_nodes, rename_keys
from framework.topology.routes import derive_cluster_block
from framework.topology.server_config import build_server_config
from framework.topology.topology import ServerPlan

if TYPE_CHECKING:
    from framework.topology.node import Table
    from framework.topology.ports import Slot
    from framework.topology.schema import Schema

__all__ = ["SERVERS_OPTION", "Member", "plan_clusters"]

SERVERS_OPTION = Option(
    name="servers",
    kind=Kind.FREE,
    help="How many servers, named after the cluster and numbered from 1; or blocks named after"
    " them, with the settings of each",
)


class Member(Struct):
    """One server while it is worked out."""

    name: str
    cluster: str
    own: Node
    """What the file says of it alone."""
    settings: Node
    """What the file says of it, its cluster and all servers."""
    derived: Table = {}
    """What follows from the whole file."""
    addresses: dict[str, tuple[str, int]] = {}
    """Name of a slot to where it listens; port -1 for any free one."""

    def has(self, block: str, option: str) -> bool:
        """Tell whether the file sets an option of a block, or of the top level."""
        table = self.settings.value
        if block and isinstance(table, dict):
            table = table[block].value if block in table else {}
        return isinstance(table, dict) and option in table and table[option].value is not None

    def derive(self, block: str, option: str, value: object) -> None:
        """Set what the file leaves open."""
        node = table_from_plain({option: value}, DERIVED_PLACE)
        node = Node({block: node}, DERIVED_PLACE) if block else node
        merged = merge_nodes(Node(self.derived, DERIVED_PLACE), node).value
        assert isinstance(merged, dict)
        self.derived = merged


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
    _give_ports(members, schema, mistakes)
    for name in dict.fromkeys(member.cluster for member in members):
        derive_cluster_block([m for m in members if m.cluster == name], schema, mistakes)
    plans = [
        ServerPlan(
            member.name,
            member.cluster,
            build_server_config(
                schema,
                [member.settings, Node(member.derived, DERIVED_PLACE)],
                mistakes,
                file=file,
                digest=digest_of(member.settings),
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
            settings = merge_nodes(merge_nodes(defaults, block), schema.rename(own, mistakes))
            members.append(_member(server, name, schema.rename(own, Mistakes()), settings))
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


def _give_ports(members: list[Member], schema: Schema, mistakes: Mistakes) -> None:
    ports = Ports(mistakes)
    counting: list[tuple[Member, Slot, str, int]] = []
    for slot in SLOTS:
        for member in members:
            if not _has_slot(member, slot, members, schema):
                continue
            said = said_address(member.settings, slot)
            if not said.is_clear:
                continue
            host = said.host or said_address(member.settings, SLOTS[0]).host or LOOPBACK
            is_shared = said_address(member.own, slot).port is None
            if said.port is None or (is_shared and said.port != ANY_PORT):
                counting.append((member, slot, host, said.port or slot.base))
                continue
            member.addresses[slot.name] = (host, said.port)
            if said.port != ANY_PORT:
                owner = f"{slot.name} port of {member.name}"
                ports.take(host, said.port, owner, said.place)
    for member, slot, host, base in counting:
        owner = f"{slot.name} port of {member.name}"
        port = ports.count_up(host, base, owner, member.own.key_place)
        member.addresses[slot.name] = (host, port)
        member.derive(slot.block, slot.port, port)


def _has_slot(member: Member, slot: Slot, members: list[Member], schema: Schema) -> bool:
    """Tell whether a server listens on a kind of port."""
    if slot.block:
        grouped = slot.block == "cluster" and sum(m.cluster == member.cluster for m in members) > 1
        return schema.has_block(slot.block) and (grouped or member.has("", slot.block))
    return slot.name == "client" or member.has("", slot.port) or member.has("", slot.listen)
