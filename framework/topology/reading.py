"""Read options from nodes: check names, apply layers, convert types.

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
    from framework.topology.option import Option, Settle
    from framework.topology.place import KeyPath, Place

__all__ = ["Mistakes", "Reading", "merge_nodes", "rename_keys"]


class Mistakes:
    """Collect errors; the same error at the same place counts once."""

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
        return node.with_value({})
    spellings = block.spellings
    renamed: Table = {}
    for key, item in node.value.items():
        option = spellings.get(key) or spellings.get(key.lower())
        if option is None:
            if not item.used_as_variable:
                problem = explain_unknown(key.lower())
                fix = "" if problem else nearest_fix(key, spellings)
                mistakes.add(item.key_place, problem or f"unknown key `{key}`", fix)
        elif option.refusal:
            if not _is_off(option, item):
                mistakes.add(item.key_place, f"`{key}` is not available: {option.refusal}")
        else:
            renamed.pop(option.name, None)
            renamed[option.name] = (
                item if option.is_plain else _rename_inside(option, item, mistakes)
            )
    return node.with_value(renamed)


def _is_off(option: Option, node: Node) -> bool:
    """Tell whether a value leaves an option as if nobody had set it."""
    if option.is_off:
        return option.is_off(node)
    if option.kind in {Kind.BLOCK, Kind.BLOCKS, Kind.NAMED, Kind.FREE}:
        return False
    try:
        return convert_value(option, node) == option.default
    except ValueError:
        return False


def _rename_inside(option: Option, node: Node, mistakes: Mistakes) -> Node:
    """Return a value in the form of its kind, with keys inside in their first spelling."""
    node = _normalized(option, node, mistakes)
    match option.kind, node.value:
        case _, None:
            pass
        case Kind.BLOCK, _:
            node = rename_keys(option, node, mistakes)
        case Kind.BLOCKS, list() as items:
            node = node.with_value([rename_keys(option, item, mistakes) for item in items])
        case Kind.NAMED, dict() as table:
            node = node.with_value({
                name: rename_keys(option, item, mistakes)
                for name, item in table.items()
                if not item.used_as_variable
            })
    return node


def _normalized(option: Option, node: Node, mistakes: Mistakes) -> Node:
    if node.value is None or option.normalize is None:
        return node
    try:
        return option.normalize(node)
    except ValueError as error:
        mistakes.add(node.place, f"`{option.name}`: {error}")
        return Node(None, node.place, node.key_place)


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
        self._is_whole = not mistakes.count
        """No key or block was left out, so what follows from them can be told."""
        self.places: dict[str, Place] = {}
        """Dotted path of an option to where it was set; not in it: nobody set it, or it stands in
        one of many blocks."""

    def read_block(
        self, block: Option, node: Node, path: KeyPath = (), *, is_item: bool = False
    ) -> dict[str, object]:
        """Return the values of a block: what is set, and the defaults of the rest.

        Args:
            block: What may stand in it.
            node: What stands in it.
            path: The way to it from the top.
            is_item: It is one of many, of which places are not kept: there may be 100,000.
        """
        assert isinstance(node.value, dict)
        options, values = block.by_name, block.defaults.copy()
        mistakes_before = self._mistakes.count
        for name, item in node.value.items():
            if item.value is not None:
                if not is_item:
                    self.places[_dotted((*path, name))] = item.place
                self._read_option(options[name], item, values, (*path, name), is_item=is_item)
        for option in block.addresses:
            host, port = (values.get(name) for name in option.spreads)
            values[option.name] = None if port is None else (host, port)
        if block.settle and self._is_whole and self._mistakes.count == mistakes_before:
            self._settle(block.settle, node, values, path)
        return values

    def _read_option(
        self,
        option: Option,
        node: Node,
        values: dict[str, object],
        path: KeyPath,
        *,
        is_item: bool,
    ) -> None:
        match option.kind:
            case Kind.BLOCK:
                values[option.name] = self.read_block(option, node, path, is_item=is_item)
            case Kind.BLOCKS:
                values[option.name] = self._read_blocks(option, node, path)
            case Kind.NAMED:
                values[option.name] = self._read_named(option, node, path)
            case Kind.FREE:
                values[option.name] = node
            case _:
                try:
                    value = convert_value(option, node)
                except ValueError as error:
                    self._mistakes.add(node.place, f"`{_dotted(path)}`: {error}")
                    return
                values[option.name] = value
                if option.kind is Kind.LISTEN:
                    self._spread(option, cast("tuple[str, int]", value), values, path)

    def _spread(
        self, option: Option, value: tuple[str, int], values: dict[str, object], path: KeyPath
    ) -> None:
        """Set the two options that an address stands for."""
        host, port = value
        for name, half in zip(option.spreads, (host or None, port or None), strict=True):
            if half is not None:
                values[name] = 0 if half == -1 else half
                if place := self.places.get(_dotted(path)):
                    self.places[_dotted((*path[:-1], name))] = place

    def _read_blocks(self, option: Option, node: Node, path: KeyPath) -> tuple[object, ...]:
        if not isinstance(node.value, list):
            self._expected("a list of blocks", node, path)
            return ()
        return tuple([
            self.read_block(option, item, (*path, index), is_item=True)
            for index, item in enumerate(node.value)
        ])

    def _read_named(self, option: Option, node: Node, path: KeyPath) -> dict[str, object]:
        if not isinstance(node.value, dict):
            self._expected("blocks by name", node, path)
            return {}
        return {
            name: self.read_block(option, item, (*path, name), is_item=True)
            for name, item in node.value.items()
        }

    def _expected(self, what: str, node: Node, path: KeyPath) -> None:
        problem = f"`{_dotted(path)}`: expected {what}, found {describe_type(node.value)}"
        self._mistakes.add(node.place, problem)

    def _settle(self, settle: Settle, node: Node, values: dict[str, object], path: KeyPath) -> None:
        for where, problem in settle(values):
            if isinstance(where, str):
                names = where.split()
                found = [self._place_of(node, path, (name,)) for name in names]
                shown = _dotted((*path, names[0]))
            else:
                found = [self._place_of(node, path, where)]
                shown = _dotted((*path, *where))
            places = [place for place in found if place]
            self._mistakes.add((*places, node.key_place)[0], f"`{shown}`: {problem}")

    def _place_of(self, node: Node, path: KeyPath, inner: KeyPath) -> Place | None:
        """Return the place of something in a block, or of what it stands in; None: not set."""
        found: Node | None = None
        for step in inner:
            below = (found or node).value
            match below, step:
                case dict(), str() if step in below:
                    found = below[step]
                case list(), int() if step < len(below):
                    found = below[step]
                case _:
                    break
        return found.place if found else self.places.get(_dotted((*path, *inner)))


def _dotted(path: KeyPath) -> str:
    """Return the way to an option as people write it: `users[3].user`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
