"""Documents in FlatBuffers, as far as Arrow's metadata has them: made front to back.

A table is its fields, each at its number in the schema: a scalar with its `struct` letter, or what
is referred to (a text, a vector, another table), which is written behind it.

Source: FlatBuffers, "Internals": tables, vtables, offsets.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias

Place: TypeAlias = Callable[[bytearray], int]
"""Appends something to a document, and returns where it begins."""
Field: TypeAlias = tuple[str, int] | Place | None
"""Of a table; None: its default."""

_REFERENCE = struct.Struct("<I")


def document(root: Place) -> bytes:
    """Return a document of one table."""
    data = bytearray(_REFERENCE.size)
    _refer(data, 0, root(data))
    return bytes(data)


def table(*fields: Field) -> Place:
    """Return a table of these fields, by their numbers from 0 on."""

    def append(data: bytearray) -> int:
        sizes = {at: _field_bytes(field) for at, field in enumerate(fields) if field is not None}
        # Widest first, so that each is aligned where the first is.
        order = sorted(sizes, key=lambda at: -sizes[at])
        offsets = [0] * len(fields)
        end = _REFERENCE.size
        for at in order:
            offsets[at] = end
            end += sizes[at]
        vtable = struct.pack(f"<HH{len(fields)}H", 4 + 2 * len(fields), end, *offsets)
        while (len(data) + len(vtable)) % 8 != _REFERENCE.size:
            data.append(0)
        start = len(data) + len(vtable)
        data += vtable + struct.pack("<i", len(vtable)) + bytes(end - _REFERENCE.size)
        for at in order:
            field = fields[at]
            if isinstance(field, tuple):
                struct.pack_into(f"<{field[0]}", data, start + offsets[at], field[1])
        for at in order:
            field = fields[at]
            if callable(field):
                _refer(data, start + offsets[at], field(data))
        return start

    return append


def text(value: str) -> Place:
    """Return a string."""

    def append(data: bytearray) -> int:
        _align(data, 4)
        start = len(data)
        encoded = value.encode()
        data.extend(_REFERENCE.pack(len(encoded)) + encoded + b"\0")
        return start

    return append


def tables(items: Sequence[Place]) -> Place:
    """Return a vector of tables."""

    def append(data: bytearray) -> int:
        _align(data, 4)
        start = len(data)
        data.extend(_REFERENCE.pack(len(items)) + bytes(4 * len(items)))
        for at, item in enumerate(items, 1):
            _refer(data, start + 4 * at, item(data))
        return start

    return append


def pairs(items: Sequence[tuple[int, int]]) -> Place:
    """Return a vector of structs of two 64-bit numbers."""

    def append(data: bytearray) -> int:
        while len(data) % 8 != _REFERENCE.size:
            data.append(0)
        start = len(data)
        data.extend(_REFERENCE.pack(len(items)))
        data.extend(b"".join(struct.pack("<qq", *item) for item in items))
        return start

    return append


def _field_bytes(field: Field) -> int:
    return struct.calcsize(field[0]) if isinstance(field, tuple) else _REFERENCE.size


def _align(data: bytearray, step_bytes: int) -> None:
    data.extend(bytes(-len(data) % step_bytes))


def _refer(data: bytearray, at: int, target: int) -> None:
    _REFERENCE.pack_into(data, at, target - at)
