"""Thrift's compact protocol, as far as the metadata of Parquet needs it.

Source: Apache Thrift, "Thrift Compact protocol encoding".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_TRUE, _I32, _I64, _BINARY, _LIST, _STRUCT = 1, 5, 6, 8, 9, 12
_SHORT_MAX = 14
_SEVEN_BITS = 0x7F


class Value(NamedTuple):
    """A value: its type, and its bytes."""

    kind: int
    data: bytes


TRUE = Value(_TRUE, b"")
"""As a field of a struct."""


def varint(number: int) -> bytes:
    """Return a number without a sign: seven bits a byte, the lowest first."""
    parts = bytearray()
    while number > _SEVEN_BITS:
        parts.append(number & _SEVEN_BITS | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def i32(number: int) -> Value:
    """Return a number of 32 bits."""
    return Value(_I32, _zigzag(number))


def i64(number: int) -> Value:
    """Return a number of 64 bits."""
    return Value(_I64, _zigzag(number))


def text(chars: str) -> Value:
    """Return a text."""
    data = chars.encode()
    return Value(_BINARY, varint(len(data)) + data)


def items(values: Sequence[Value]) -> Value:
    """Return a list; its items are of one type, and there is one at least."""
    return joined(values[0].kind, len(values), b"".join(it.data for it in values))


def joined(kind: int, count: int, data: bytes) -> Value:
    """Return a list of items of one type whose bytes are joined already."""
    head = bytes([count << 4 | kind]) if count <= _SHORT_MAX else bytes([0xF0 | kind])
    return Value(_LIST, head + (b"" if count <= _SHORT_MAX else varint(count)) + data)


def structs(count: int, data: bytes) -> Value:
    """Return a list of structs whose bytes are joined already; there may be none."""
    return joined(_STRUCT, count, data)


def struct(fields: dict[int, Value]) -> Value:
    """Return a struct of fields by their numbers, in rising order and less than 16 apart."""
    parts = []
    before = 0
    for number, value in fields.items():
        parts.append(bytes([(number - before) << 4 | value.kind]) + value.data)
        before = number
    return Value(_STRUCT, b"".join(parts) + b"\0")


def _zigzag(number: int) -> bytes:
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)
