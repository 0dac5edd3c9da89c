"""Place of a setting: a line of a file, a key of a HOCON file, a flag, or a default."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from typing_extensions import override

__all__ = ["COMMAND_LINE", "DEFAULT_PLACE", "DERIVED_PLACE", "NOWHERE", "KeyPath", "Place"]

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys from the top of a file downwards; an int is an index into a list, from 0."""


class Place(NamedTuple):
    """Where a setting stands; prints as `seed.conf:3:5`.

    With a key where there is no line, and with the variable that its value is taken from.
    """

    file: str
    """The file as the user named it, or "command line", or where else the setting comes from."""
    line: int | None = None
    """1-based; None when the format keeps no positions."""
    column: int | None = None
    """1-based, in characters; None when the format keeps no positions."""
    key: str = ""
    """The dotted key or the flag, where it is needed to find the setting."""
    variable: str = ""
    """`$NAME`, where a TOML file names a variable of the environment in place of the value."""

    @property
    def is_written(self) -> bool:
        """Whether a file or a flag says it; False: it is a default, or follows from the rest."""
        return self not in {DEFAULT_PLACE, DERIVED_PLACE, NOWHERE}

    @override
    def __str__(self) -> str:
        if self.line is None:
            return f"{self.file}: {self.key}" if self.key else self.file
        place = f"{self.file}:{self.line}"
        if self.column is not None:
            place += f":{self.column}"
        return f"{place} ({self.variable})" if self.variable else place


DEFAULT_PLACE = Place("default")
DERIVED_PLACE = Place("derived")
NOWHERE = Place("")
COMMAND_LINE = "command line"
"""What `Place.file` is for flags."""
