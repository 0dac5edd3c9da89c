"""Read TOML files: tomllib gives the values, a scan gives the lines."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, cast

from framework.topology.errors import TopologyError, TopologyErrors
from framework.topology.node import Node
from framework.topology.place import Place
from framework.topology.toml_places import find_places

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.topology.node import Scalar
    from framework.topology.place import KeyPath

__all__ = ["node_from_toml"]

_AT_LINE = re.compile(r"^(.*) \(at line (\d+), column (\d+)\)$", re.DOTALL)


def node_from_toml(text: str, name: str) -> Node:
    """Parse a TOML file.

    Args:
        text: What stands in it.
        name: What errors call it.

    Raises:
        TopologyErrors: It is not TOML; the first mistake only.
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TopologyErrors([_explain(str(error), text, name)]) from None
    except (ValueError, RecursionError) as error:
        problem = "too deep" if isinstance(error, RecursionError) else str(error)
        raise TopologyErrors([TopologyError(Place(name), problem)]) from None
    return _wrap(values, (), find_places(text, name), Place(name, 1, 1))


def _explain(message: str, text: str, name: str) -> TopologyError:
    matched = _AT_LINE.match(message)
    if matched:
        place = Place(name, int(matched[2]), int(matched[3]))
        return TopologyError(place, matched[1])
    last_line = text.count("\n") + 1
    return TopologyError(Place(name, last_line), message.removesuffix(" (at end of document)"))


def _wrap(
    value: object, path: KeyPath, places: Mapping[KeyPath, tuple[Place, Place]], above: Place
) -> Node:
    key_place, place = places.get(path, (above, above))
    match value:
        case dict():
            table = {key: _wrap(item, (*path, key), places, place) for key, item in value.items()}
            return Node(table, place, key_place)
        case list():
            items = [_wrap(item, (*path, i), places, place) for i, item in enumerate(value)]
            return Node(items, place, key_place)
        case _:
            return Node(cast("Scalar", value), place, key_place)
