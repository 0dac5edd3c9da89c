"""Normalize values that may be written in several forms.

Source: nats-server `opts.go`, the functions that parse accounts and permissions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.topology import Node

if TYPE_CHECKING:
    from collections.abc import Callable


def text_as(name: str) -> Callable[[Node], Node]:
    """Return what turns a text into a block with one option; a block stays."""

    def normalize(node: Node) -> Node:
        return node.with_value({name: node}) if isinstance(node.value, str) else node

    return normalize


def responses_from_bool(node: Node) -> Node:
    """Turn true into a block with all defaults, false into none."""
    if node.value is True:
        return node.with_value({})
    return Node(None, node.place, node.key_place) if node.value is False else node


def lower_case(node: Node) -> Node:
    """Turn a text into lower case."""
    if not isinstance(node.value, str):
        return node
    return Node(node.value.lower(), node.place, node.key_place)


def percent(node: Node) -> Node:
    """Turn a text such as `50%` into a number."""
    text = node.value
    if isinstance(text, str) and text.removesuffix("%").isdecimal():
        return Node(int(text.removesuffix("%")), node.place, node.key_place)
    return node


def sampling(node: Node) -> Node:
    """Turn a percentage into a number, and `headers` into 0."""
    if isinstance(node.value, str) and node.value.strip().lower() == "headers":
        return Node(0, node.place, node.key_place)
    if node.value == 0:
        raise ValueError("bad sampling percentage, should be 1-100, or headers")
    return percent(node)


def named_from_list(node: Node) -> Node:
    """Turn a list of names into empty blocks of these names.

    Raises:
        ValueError: A name stands there twice, or is none.
    """
    if not isinstance(node.value, list):
        return node
    named: dict[str, Node] = {}
    for item in node.value:
        name = item.value
        if not isinstance(name, str):
            raise ValueError("expected account names, or a block")  # noqa: TRY004 - as asked
        if name in named:
            raise ValueError(f"duplicate account entry: {name}; remove one of them")
        named[name] = Node({}, item.place)
    return node.with_value(named)


def list_from_mappings(node: Node) -> Node:
    """Turn a block of subjects into a list of blocks with `source` and `destinations`.

    Each subject is mapped to one subject, to a block, or to a list of blocks.
    """
    if not isinstance(node.value, dict):
        return node
    return node.with_value([_mapping(source, item) for source, item in node.value.items()])


def _mapping(source: str, node: Node) -> Node:
    destinations = node.value
    if isinstance(destinations, str):
        whole = Node(100, node.place)
        destinations = [Node({"destination": node, "weight": whole}, node.place)]
    elif isinstance(destinations, dict):
        destinations = [node]
    inside = {
        "source": Node(source, node.key_place),
        "destinations": Node(destinations, node.place),
    }
    return Node(inside, node.place, node.key_place)
