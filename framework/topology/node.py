"""One value of a configuration file with its place, the same for every format."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Protocol, TypeAlias, cast

from typing_extensions import override

from framework.topology.place import Place

__all__ = ["Node", "Scalar", "Table", "describe_type", "merge_nodes", "table_from_plain"]

Scalar: TypeAlias = bool | int | float | str | datetime | date | time | timedelta | None
Table: TypeAlias = dict[str, "Node"]


class Locator(Protocol):
    """Tells line and column of a character."""

    def place(self, offset: int) -> Place:
        """Return the place of a character, given its offset from 0."""


Spot: TypeAlias = Place | tuple[Locator, int]


class Node:
    """A value and its place.

    A large file has more values than anybody asks places of, so these are worked out late.

    Args:
        value: A scalar, a list of nodes, or a table of nodes in the order of the file.
        place: Where the value begins; or a text, and the offset in it.
        key_place: Where its key begins; None in a list.
    """

    __slots__ = ("_key_spot", "_spot", "used_as_variable", "value")

    def __init__(
        self, value: Scalar | list[Node] | Table, place: Spot, key_place: Spot | None = None
    ) -> None:
        self.value = value
        self._spot = place
        self._key_spot = key_place or place
        self.used_as_variable = False
        """Some `$NAME` refers to this key, so it need not be an option."""

    @property
    def place(self) -> Place:
        """Where the value begins."""
        return _place_from(self._spot)

    @property
    def key_place(self) -> Place:
        """Where its key begins; the value, when it has none."""
        return _place_from(self._key_spot)

    def with_value(self, value: list[Node] | Table) -> Node:
        """Return another value that stands at the same place."""
        return Node(value, self._spot, self._key_spot)

    @override
    def __repr__(self) -> str:
        return f"Node({self.plain()!r} at {self.place})"

    def plain(self) -> object:
        """Return the value with all nodes below it unwrapped."""
        match self.value:
            case dict() as table:
                return {key: node.plain() for key, node in table.items()}
            case list() as items:
                return [node.plain() for node in items]
            case scalar:
                return scalar


def _place_from(spot: Spot) -> Place:
    if isinstance(spot, Place):
        return spot
    text, offset = spot
    return text.place(offset)


def merge_nodes(lower: Node, upper: Node) -> Node:
    """Lay one block over another: blocks go into each other, all else is replaced.

    What the upper one says stands last, since of two options that set the same thing,
    such as `listen` and `port`, the last one wins.
    """
    if not (isinstance(lower.value, dict) and isinstance(upper.value, dict)):
        return upper
    merged = dict(lower.value)
    for key, node in upper.value.items():
        below = merged.pop(key, None)
        merged[key] = merge_nodes(below, node) if below else node
    return Node(merged, upper.place, upper.key_place)


def table_from_plain(values: object, place: Place) -> Node:
    """Wrap plain Python values, all with one place: what code derives or a flag says."""
    match values:
        case dict():
            return Node({str(k): table_from_plain(v, place) for k, v in values.items()}, place)
        case list() | tuple():
            return Node([table_from_plain(item, place) for item in values], place)
        case _:
            return Node(cast("Scalar", values), place)


def describe_type(value: object) -> str:
    """Name the type of a value as a user would."""
    match value:
        case dict():
            return "a block"
        case list():
            return "a list"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value}"' if value else "an empty text"
        case None:
            return "nothing"
        case _:
            return str(value)
