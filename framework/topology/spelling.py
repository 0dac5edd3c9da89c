"""Bring the keys of one file or level into their first spelling; refuse what no option is called.

It takes all of a file and collects its mistakes, so that a user sees them together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.topology.conversion import convert_value
from framework.topology.names import nearest_fix
from framework.topology.node import Node, describe_type
from framework.topology.option import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.topology.errors import Mistakes
    from framework.topology.node import Table
    from framework.topology.option import Option

__all__ = ["rename_keys"]


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
