"""Convert a scalar or list of a file into the value of its option."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, cast

from framework.topology.limits import PORT_MAX
from framework.topology.node import describe_type
from framework.topology.option import Kind
from framework.topology.units import (
    duration_text_from_seconds,
    listen_from_text,
    seconds_from_text,
    size_from_text,
    split_url,
    without_password,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.topology.node import Node
    from framework.topology.option import Option

__all__ = ["convert_value"]

_BOOL_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NUMBER_DIGITS_MAX = 19
_PLAIN_SECONDS_END = 1_000_000
"""Nobody means so many seconds, but `2m` without quotes is a number in nats-server's language."""


def convert_value(option: Option, node: Node) -> object:
    """Return the value of an option that is no block.

    Raises:
        ValueError: The node does not hold such a value; says what was expected.
    """
    try:
        value = _CONVERSIONS[option.kind](node)
    except ValueError:
        if option.secret:
            raise ValueError(f"expected {option.kind.value} in quotes") from None
        raise
    if option.kind is Kind.PORT:
        value = {-1: 0, 0: option.default}.get(cast("int", value), value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        _check_range(option, value)
        if option.zero_is_default and not value:
            value = option.default
    if option.choices and value not in option.choices:
        raise ValueError(f"expected {_list_words(option.choices)}, found {describe_type(value)}")
    problem = option.check(value) if option.check else None
    if problem:
        raise ValueError(problem)
    return value


def _expected(what: str, node: Node, fix: str = "") -> ValueError:
    text = f"expected {what}, found {describe_type(node.value)}"
    return ValueError(f"{text}; {fix}" if fix else text)


def _bool_from(node: Node) -> bool:
    if isinstance(node.value, bool):
        return node.value
    if isinstance(node.value, str) and node.value.lower() in _BOOL_WORDS:
        return _BOOL_WORDS[node.value.lower()]
    raise _expected("true or false", node)


def _int_from(node: Node) -> int:
    value = node.value
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        digits = value.removeprefix("-")
        if digits.isascii() and digits.isdigit() and len(digits) <= _NUMBER_DIGITS_MAX:
            return int(value)
    raise _expected("a number", node)


def _port_from(node: Node) -> int:
    port = _int_from(node)
    if not -1 <= port <= PORT_MAX:
        raise _expected(f"a port from 1 to {PORT_MAX}, or -1 for any free one", node)
    return port


def _size_from(node: Node) -> int:
    return size_from_text(node.value) if isinstance(node.value, str) else _int_from(node)


def _seconds_from(node: Node) -> float:
    match node.value:
        case bool():
            pass
        case int() | float() as seconds if seconds < _PLAIN_SECONDS_END:
            return float(seconds)
        case int():
            raise _expected("a duration", node, "a bare 2m means 2,000,000 here: quote it")
        case timedelta() as duration:
            return duration.total_seconds()
        case str() as text:
            try:
                return float(_int_from(node))
            except ValueError:
                return seconds_from_text(text)
    raise _expected("a duration such as 10s", node)


def _text_from(node: Node) -> str:
    if isinstance(node.value, str):
        return node.value
    quotes = "put it in quotes" if not isinstance(node.value, dict | list) else ""
    raise _expected("a text", node, quotes)


def _items_of(node: Node) -> list[Node]:
    return node.value if isinstance(node.value, list) else [node]


def _strings_from(node: Node) -> tuple[str, ...]:
    return tuple(_text_from(item) for item in _items_of(node))


def _urls_from(node: Node) -> tuple[str, ...]:
    urls = dict.fromkeys(_text_from(item).strip() for item in _items_of(node))
    for url in urls:
        if not split_url(url).hostname:
            raise ValueError(f"expected a host in {without_password(url)}")
    return tuple(urls)


def _listen_from(node: Node) -> tuple[str, int]:
    if isinstance(node.value, str):
        return listen_from_text(node.value)
    if isinstance(node.value, int) and not isinstance(node.value, bool):
        return listen_from_text(str(node.value))
    raise _expected("a port or host:port", node)


def _texts_from(node: Node) -> dict[str, str]:
    if isinstance(node.value, dict):
        return {key: _text_from(item) for key, item in node.value.items()}
    raise _expected("a block of texts", node)


def _check_range(option: Option, value: float) -> None:
    low, high = option.minimum, option.maximum
    if low is not None and value < low and not (option.zero_is_default and value == 0):
        raise ValueError(f"expected at least {_show(option, low)}, found {_show(option, value)}")
    if high is not None and value > high:
        raise ValueError(f"expected at most {_show(option, high)}, found {_show(option, value)}")


def _show(option: Option, value: float) -> str:
    if option.kind is Kind.DURATION:
        return duration_text_from_seconds(value)
    return f"{value:,}" + (f" {option.unit}" if option.unit else "")


def _list_words(words: tuple[str, ...]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]]) if words[1:] else words[0]


_CONVERSIONS: Mapping[Kind, Callable[[Node], object]] = {
    Kind.BOOL: _bool_from,
    Kind.INT: _int_from,
    Kind.PORT: _port_from,
    Kind.SIZE: _size_from,
    Kind.DURATION: _seconds_from,
    Kind.STRING: _text_from,
    Kind.STRINGS: _strings_from,
    Kind.URLS: _urls_from,
    Kind.LISTEN: _listen_from,
    Kind.MAP: _texts_from,
}
