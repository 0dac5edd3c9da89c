"""Format values of options for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from framework.topology.node import Node
from framework.topology.option import Kind
from framework.topology.units import (
    duration_text_from_seconds,
    join_address,
    size_text_from_bytes,
    without_password,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.topology.option import Option

__all__ = ["show_value"]


def show_value(option: Option, value: object) -> str:
    """Write a value as a configuration file would; secrets stay secret."""
    if value is None or value == "":
        return "-"
    if option.secret:
        return "***"
    show = _SHOWN.get(option.kind)
    return show(value) if show else str(value)


def _show_bool(value: object) -> str:
    return "true" if value else "false"


def _show_port(value: object) -> str:
    return str(value or "any free one")


def _show_size(value: object) -> str:
    return size_text_from_bytes(cast("int", value))


def _show_duration(value: object) -> str:
    return duration_text_from_seconds(cast("float", value))


def _show_address(value: object) -> str:
    host, port = cast("tuple[str | None, int]", value)
    return join_address(host or "", port) if port else f"{host or ''}, any free port"


def _show_texts(value: object) -> str:
    texts = cast("tuple[str, ...]", value)
    return ", ".join(without_password(text) for text in texts) or "none"


def _show_map(value: object) -> str:
    pairs = cast("Mapping[str, str]", value).items()
    return ", ".join(f"{key}={text}" for key, text in pairs) or "none"


def _show_free(value: object) -> str:
    inner = value.value if isinstance(value, Node) else value
    return f"{len(inner)} entries" if isinstance(inner, dict | list | tuple) else str(inner)


_SHOWN: Mapping[Kind, Callable[[object], str]] = {
    Kind.BOOL: _show_bool,
    Kind.PORT: _show_port,
    Kind.SIZE: _show_size,
    Kind.DURATION: _show_duration,
    Kind.LISTEN: _show_address,
    Kind.STRINGS: _show_texts,
    Kind.URLS: _show_texts,
    Kind.MAP: _show_map,
    Kind.BLOCKS: _show_free,
    Kind.NAMED: _show_free,
    Kind.FREE: _show_free,
}
