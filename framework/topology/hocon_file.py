"""Read HOCON files by pyhocon; it keeps no lines, so places are keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework.topology.errors import TopologyError, TopologyErrors
from framework.topology.hocon_includes import missing_includes
from framework.topology.node import Node
from framework.topology.place import Place

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["node_from_hocon"]


def node_from_hocon(text: str, name: str, folder: Path) -> Node:
    """Parse a HOCON file, with its includes and substitutions.

    Args:
        text: What stands in it.
        name: What errors call it.
        folder: What its includes are relative to.

    Raises:
        TopologyErrors: It is not HOCON, a file to include is not there, or a substitution leads
            nowhere.
    """
    missing = list(missing_includes(text, name, folder))
    if missing:
        raise TopologyErrors(missing)
    # Imported here: it takes half a second, and most topologies are TOML.
    from pyhocon import ConfigFactory  # noqa: PLC0415
    from pyhocon.exceptions import ConfigException  # noqa: PLC0415
    from pyparsing import ParseBaseException  # noqa: PLC0415

    try:
        tree = ConfigFactory.parse_string(text, basedir=str(folder))
    except ParseBaseException as error:
        place = Place(name, error.lineno, error.col)
        raise TopologyErrors([TopologyError(place, f"not HOCON: {error.msg}")]) from None
    except (ConfigException, OSError, RecursionError, ValueError) as error:
        problem = str(error) or type(error).__name__
        raise TopologyErrors([TopologyError(Place(name), problem)]) from None
    return _wrap(tree, name, "")


def _wrap(value: Any, name: str, path: str) -> Node:
    place = Place(name, key=path)
    match value:
        case dict():
            return Node(
                {
                    key: _wrap(item, name, f"{path}.{key}" if path else key)
                    for key, item in ((_bare(key), item) for key, item in value.items())
                },
                place,
            )
        case list():
            items = [_wrap(item, name, f"{path}[{i}]") for i, item in enumerate(value)]
            return Node(items, place)
        case _:
            return Node(value, place)


def _bare(key: str) -> str:
    """Take the quotes off a key; pyhocon leaves them on."""
    return key.strip('"')
