"""One server of a topology, before its values are read: what the file says, and what follows."""

from __future__ import annotations

from msgspec import Struct

from framework.topology.node import Node, Table, merge_nodes, table_from_plain
from framework.topology.place import DERIVED_PLACE

__all__ = ["Member"]


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

    def whole(self) -> Node:
        """Return what the file says of it, and what follows from that."""
        merged = merge_nodes(self.settings, Node(self.derived, DERIVED_PLACE))
        return Node(merged.value, self.settings.place, self.settings.key_place)

    def derive(self, block: str, option: str, value: object) -> None:
        """Set what the file leaves open."""
        node = table_from_plain({option: value}, DERIVED_PLACE)
        node = Node({block: node}, DERIVED_PLACE) if block else node
        merged = merge_nodes(Node(self.derived, DERIVED_PLACE), node).value
        assert isinstance(merged, dict)
        self.derived = merged
