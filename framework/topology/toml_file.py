"""Read TOML files: tomllib gives the values, a scan gives the lines."""

from __future__ import annotations

import os
import re
import tomllib
from typing import TYPE_CHECKING, cast

from framework.topology.errors import TopologyError, TopologyErrors
from framework.topology.node import Node
from framework.topology.place import Place
from framework.topology.toml_places import find_places

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.topology.node import Scalar, Table
    from framework.topology.place import KeyPath

__all__ = ["node_from_toml"]

_AT_LINE = re.compile(r"^(.*) \(at line (\d+), column (\d+)\)$", re.DOTALL)


_VARIABLE = re.compile(r"(\$?)\$([A-Za-z_][A-Za-z0-9_]*)")
"""A whole text that is `$NAME`; `$$NAME` is the text `$NAME`. A bcrypt hash is neither."""


def node_from_toml(text: str, name: str, environ: Mapping[str, str] = os.environ) -> Node:
    """Parse a TOML file; a text `$NAME` is a variable of the environment.

    Args:
        text: What stands in it.
        name: What errors call it.
        environ: Where variables are looked up.

    Raises:
        TopologyErrors: It is not TOML, then the first mistake only; or variables are not set.
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TopologyErrors([_explain(str(error), text, name)]) from None
    except (ValueError, RecursionError) as error:
        problem = "too deep" if isinstance(error, RecursionError) else str(error)
        raise TopologyErrors([TopologyError(Place(name), problem)]) from None
    root = _wrap(values, (), find_places(text, name), Place(name, 1, 1))
    if "$" in text:
        unset: list[TopologyError] = []
        root = _with_variables(root, environ, unset)
        if unset:
            raise TopologyErrors(unset)
    return root


def _with_variables(node: Node, environ: Mapping[str, str], unset: list[TopologyError]) -> Node:
    """Return a node with what the variables in it stand for."""
    value, place = node.value, node.place
    match value:
        case dict():
            value = {key: _with_variables(it, environ, unset) for key, it in value.items()}
        case list():
            value = [_with_variables(it, environ, unset) for it in value]
        case str() if found := _VARIABLE.fullmatch(value):
            if found[1]:
                value = f"${found[2]}"
            elif found[2] in environ:
                place = place._replace(variable=value)
                value = _variable(found[2], environ)
            else:
                problem = f"the variable {value} is not in the environment"
                fix = f"write ${value} for the text {value}"
                unset.append(TopologyError(node.place, problem, fix))
    return Node(value, place, node.key_place)


def _variable(name: str, environ: Mapping[str, str]) -> Scalar | list[Node] | Table:
    """Return what a variable stands for, read as nats-server reads one: `1m` is a number."""
    from framework.topology.natsconf import parse_conf  # noqa: PLC0415 - for variables only

    found = parse_conf(f"value = ${name}", f"${name}", environ).value
    assert isinstance(found, dict)
    return found["value"].value


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
