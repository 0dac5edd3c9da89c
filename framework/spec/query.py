"""Read the query of a monitoring URL; errors have nats-server's texts.

Source: nats-server `monitor.go`, `decodeBool` and its neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from framework.errors import BadQuery

_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_INT: Final = r"[+-]?[0-9]{1,19}"
_UNSIGNED: Final = r"[0-9]{1,20}"
_INT_MAX: Final = 2**63 - 1
_UNSIGNED_MAX: Final = 2**64 - 1
_SHOWN_CHARS_MAX: Final = 100


def read_bool(query: Mapping[str, str], name: str) -> bool:
    """Return a flag; False when it is absent or empty."""
    text = query.get(name, "")
    if not text or text in _FALSE:
        return False
    if text in _TRUE:
        return True
    raise BadQuery(_wrong("boolean", name, "ParseBool", text))


def read_int(query: Mapping[str, str], name: str) -> int:
    """Return a number with a sign; 0 when it is absent or empty."""
    text = query.get(name, "")
    if not text:
        return 0
    if not re.fullmatch(_INT, text) or abs(int(text)) > _INT_MAX:
        raise BadQuery(_wrong("int", name, "Atoi", text))
    return int(text)


def read_unsigned(query: Mapping[str, str], name: str) -> int:
    """Return a number without a sign; 0 when it is absent or empty."""
    text = query.get(name, "")
    if not text:
        return 0
    if not re.fullmatch(_UNSIGNED, text) or int(text) > _UNSIGNED_MAX:
        raise BadQuery(_wrong("uint64", name, "ParseUint", text))
    return int(text)


def read_text(query: Mapping[str, str], name: str) -> str:
    """Return a text; empty when it is absent."""
    return query.get(name, "")


def read_texts(query: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Return texts between commas; none when they are absent."""
    return tuple(it for it in query.get(name, "").split(",") if it)


def read_details(query: Mapping[str, str], name: str) -> bool:
    """Return whether details are asked for, as by `subs=detail`."""
    return query.get(name, "").lower() == "detail"


def read_bool_or_details(query: Mapping[str, str], name: str) -> bool:
    """Return a flag; `detail` is not True, but allowed beside it."""
    return not read_details(query, name) and read_bool(query, name)


def _wrong(kind: str, name: str, function: str, text: str) -> str:
    shown = text[:_SHOWN_CHARS_MAX].encode("unicode_escape").decode().replace('"', '\\"')
    return (
        f"Error decoding {kind} for '{name}': strconv.{function}: "
        f'parsing "{shown}": invalid syntax'
    )
