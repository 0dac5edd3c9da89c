"""From tables of nodes to values: names first, then layers over each other, then types.

Each step takes all of a file and collects its mistakes, so that a user sees them together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from framework.topology.conversion import convert_value
from framework.topology.errors import TopologyError, TopologyErrors
from framework.topology.names import nearest_fix
from framework.topology.node import Node, describe_type
from framework.topology.option import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from framework.topology.node import Table
    from framework.topology.option import Option
    from framework.topology.place import Place

__all__ = ["Mistakes", "Reading", "merge_nodes", "rename_keys"]


class Mistakes:
    """Collects errors; the same mistake at the same place counts once."""

    def __init__(self) -> None:
        self._errors: dict[tuple[Place, str], TopologyError] = {}

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._errors)

    def add(self, place: Place, problem: str, fix: str = "") -> None:
        """Note one mistake."""
        self._errors.setdefault((place, problem), TopologyError(place, problem, fix))

    def extend(self, errors: Iterable[TopologyError]) -> None:
        """Note mistakes that others have found."""
        for error in errors:
            self._errors.setdefault((error.place, error.problem), error)

    def raise_if_any(self) -> None:
        """End here if anything was wrong.

        Raises:
            TopologyErrors: With all that was noted.
        """
        if self._errors:
            raise TopologyErrors(self._errors.values())


def rename_keys(
    block: Option,
    node: Node,
    mistakes: Mistakes,
    explain_unknown: Callable[[str], str | None] = lambda _: None,
) -> Node:
    """Return a block with every key in its first spelling; unknown ones are mistakes.

    Args:
        block: What may stand in it.
        node: The block of one file or level, before it is laid over others.
        mistakes: Where to note what is wrong.
        explain_unknown: Says why a key is unknown that one might expect to be known.
    """
    if not isinstance(node.value, dict):
        if node.value is not None:
            mistakes.add(node.place, f"expected a block, found {describe_type(node.value)}")
        return Node({}, node.place, node.key_place)
    known = {name: option for option in block.options for name in option.names}
    renamed: Table = {}
    for key, item in node.value.items():
        option = known.get(key.lower())
        if option is None:
            if not item.used_as_variable:
                problem = explain_unknown(key.lower())
                fix = "" if problem else nearest_fix(key, known)
                mistakes.add(item.key_place, problem or f"unknown key `{key}`", fix)
        elif option.refusal:
            mistakes.add(item.key_place, f"`{key}` is not available: {option.refusal}")
        else:
            renamed.pop(option.name, None)
            renamed[option.name] = _rename_inside(option, item, mistakes)
    return Node(renamed, node.place, node.key_place)


def _rename_inside(option: Option, node: Node, mistakes: Mistakes) -> Node:
    if option.kind is Kind.BLOCK and node.value is not None:
        return rename_keys(option, node, mistakes)
    if option.kind is Kind.BLOCKS and isinstance(node.value, list):
        items = [rename_keys(option, item, mistakes) for item in node.value]
        return Node(items, node.place, node.key_place)
    return node


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


class Reading:
    """Turns nodes whose keys are known into values, and remembers where each came from.

    Args:
        mistakes: Where to note what is wrong.
    """

    def __init__(self, mistakes: Mistakes) -> None:
        self._mistakes = mistakes
        self.places: dict[str, Place] = {}
        """Dotted path of an option to where it was set; not in it: nobody set it."""

    def read_block(self, block: Option, node: Node, path: str = "") -> dict[str, object]:
        """Return the values of a block: what is set, and the defaults of the rest."""
        assert isinstance(node.value, dict)
        options = {option.name: option for option in block.options}
        values = {option.name: option.default for option in block.options}
        mistakes_before = self._mistakes.count
        for name, item in node.value.items():
            inner = f"{path}.{name}" if path else name
            if item.value is None:
                values[name] = options[name].default
                continue
            self.places[inner] = item.place
            self._read_option(options[name], item, values, inner)
        for option in block.options:
            if option.kind is Kind.LISTEN:
                host, port = (values.get(name) for name in option.spreads)
                values[option.name] = None if port is None else (host, port)
        if block.settle and self._mistakes.count == mistakes_before:
            self._settle(block, node, values, path)
        return values

    def _read_option(
        self, option: Option, node: Node, values: dict[str, object], path: str
    ) -> None:
        match option.kind:
            case Kind.BLOCK:
                values[option.name] = self.read_block(option, node, path)
            case Kind.BLOCKS:
                values[option.name] = self._read_blocks(option, node, path)
            case Kind.FREE:
                values[option.name] = node
            case _:
                try:
                    value = convert_value(option, node)
                except ValueError as error:
                    self._mistakes.add(node.place, f"`{path}`: {error}")
                    return
                values[option.name] = value
                if option.kind is Kind.LISTEN:
                    self._spread(option, cast("tuple[str, int]", value), values, path)

    def _spread(
        self, option: Option, value: tuple[str, int], values: dict[str, object], path: str
    ) -> None:
        """Set the two options that an address stands for."""
        host, port = value
        above = path.rpartition(".")[0]
        for name, half in zip(option.spreads, (host or None, port or None), strict=True):
            if half is not None:
                values[name] = 0 if half == -1 else half
                self.places[f"{above}.{name}" if above else name] = self.places[path]

    def _read_blocks(self, option: Option, node: Node, path: str) -> tuple[object, ...]:
        if not isinstance(node.value, list):
            problem = f"`{path}`: expected a list of blocks, found {describe_type(node.value)}"
            self._mistakes.add(node.place, problem)
            return ()
        return tuple(
            self.read_block(option, item, f"{path}[{index}]")
            for index, item in enumerate(node.value)
        )

    def _settle(self, block: Option, node: Node, values: dict[str, object], path: str) -> None:
        assert block.settle
        prefix = f"{path}." if path else ""
        for names, problem in block.settle(values):
            paths = [prefix + name for name in names.split()]
            places = [self.places[inner] for inner in paths if inner in self.places]
            self._mistakes.add((*places, node.key_place)[0], f"`{paths[0]}`: {problem}")
