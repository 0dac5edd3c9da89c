"""Entries that wait for a newer version of the server, and what they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

Name = tuple[str, ...]
"""Stands for all whose names begin with it; empty: for everything."""


class HeldEntry(Struct, frozen=True):
    """An entry as it came."""

    index: int
    data: bytes
    about: tuple[Name, ...]


class Held:
    """Keeps entries in their order."""

    def __init__(self) -> None:
        self.entries: list[HeldEntry] = []
        self._names: dict[Name, None] = {}

    def add(self, index: int, data: bytes, about: tuple[Name, ...]) -> None:
        """Keep an entry."""
        self.entries.append(HeldEntry(index, bytes(data), about))
        self._names.update(dict.fromkeys(about))

    def covers(self, name: Name) -> bool:
        """Return whether an entry is about this, or about what it is a part of."""
        return any(name[: len(it)] == it for it in self._names)

    def concerns_any(self, names: Iterable[Name]) -> bool:
        """Return whether an entry is about one of these, a part of it, or what it is a part of."""
        return any(_overlap(name, it) for name in names for it in self._names)


def _overlap(one: Name, other: Name) -> bool:
    length = min(len(one), len(other))
    return one[:length] == other[:length]
