"""The text of one file, with line and column of each character."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from framework.topology.errors import TopologyError, TopologyErrors
from framework.topology.place import Place

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Source"]

_LINE_END = re.compile("\n")


class Source:
    """A text with a name.

    Args:
        name: What errors call it.
        text: Bytes that are not UTF-8 stand in it as lone surrogates.
        folder: What its includes are relative to.
    """

    __slots__ = ("_line_starts", "folder", "name", "text")

    def __init__(self, name: str, text: str, folder: Path) -> None:
        self.name = name
        self.text = text
        self.folder = folder
        self._line_starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def place(self, offset: int) -> Place:
        """Return the line and column of a character, given its offset from 0."""
        line = bisect_right(self._line_starts, offset)
        return Place(self.name, line, offset - self._line_starts[line - 1] + 1)

    def parse_error(self, offset: int, problem: str, fix: str = "") -> TopologyErrors:
        """Return the error of a text that is not of this language.

        It has nats-server's first words, which test harnesses and scripts look for.

        Source: nats-server `conf/parse.go`, `processItem`.
        """
        place = self.place(offset)
        text = f"Parse error on line {place.line}: {problem}"
        return TopologyErrors([TopologyError(place, text, fix)])

    def value_error(self, offset: int, problem: str, fix: str = "") -> TopologyErrors:
        """Return the error of a value that is well-formed, but none."""
        return TopologyErrors([TopologyError(self.place(offset), problem, fix)])
