"""Read the values of options from a node whose keys are known: convert, settle, keep places."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from framework.topology.conversion import convert_value
from framework.topology.node import describe_type
from framework.topology.option import Kind

if TYPE_CHECKING:
    from framework.topology.errors import Mistakes
    from framework.topology.node import Node
    from framework.topology.option import Option, Settle
    from framework.topology.place import KeyPath, Place

__all__ = ["Reading"]


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
