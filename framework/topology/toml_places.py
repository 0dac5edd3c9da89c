"""Lines of the keys of a TOML file.

tomllib keeps no positions. This scan finds them, and nothing else: the text must have passed
tomllib already, so whatever is not a key, a bracket or a string can be skipped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from framework.topology.place import Place

if TYPE_CHECKING:
    from framework.topology.place import KeyPath

__all__ = ["find_places"]

Places: TypeAlias = "dict[KeyPath, tuple[Place, Place]]"

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\])*"'
    r"|'[^']*'",
    re.DOTALL,
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}\n#]*")
_ESCAPE = re.compile(r"\\(?:u(.{4})|U(.{8})|(.))")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r"}


def find_places(text: str, name: str) -> Places:
    """Return the place of the key and of the value of every path in a valid TOML text."""
    return _Scan(text.replace("\r\n", "\n"), name).run()


class _Scan:
    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self._pos = 0
        self._line = 1
        self._line_start = 0
        self._counted_to = 0
        self._places: Places = {}
        self._items: dict[KeyPath, int] = {}
        """Path of an array of tables to the index of its last one."""

    def run(self) -> Places:
        table: KeyPath = ()
        while self._skip_blank():
            if self._text.startswith("[", self._pos):
                table = self._header()
            else:
                self._entry(table)
        return self._places

    def _skip_blank(self) -> bool:
        matched = _BLANK.match(self._text, self._pos)
        assert matched
        self._pos = matched.end()
        return self._pos < len(self._text)

    def _here(self) -> Place:
        """Return the place of the next character; the scan only ever goes forward."""
        newlines = self._text.count("\n", self._counted_to, self._pos)
        if newlines:
            self._line += newlines
            self._line_start = self._text.rfind("\n", 0, self._pos) + 1
        self._counted_to = self._pos
        return Place(self._name, self._line, self._pos - self._line_start + 1)

    def _note(self, path: KeyPath, key_place: Place, place: Place) -> None:
        self._places.setdefault(path, (key_place, place))

    def _header(self) -> KeyPath:
        place = self._here()
        is_array = self._text.startswith("[[", self._pos)
        self._pos += 1 + is_array
        keys = self._keys()
        path: KeyPath = ()
        for index, key in enumerate(keys):
            path = (*path, key)
            self._note(path, place, place)
            if is_array and index + 1 == len(keys):
                self._items[path] = self._items.get(path, -1) + 1
            if path in self._items:
                path = (*path, self._items[path])
                self._note(path, place, place)
        self._skip_blank()
        self._pos += 1 + is_array
        return path

    def _keys(self) -> list[str]:
        """Read a dotted key."""
        keys = [self._key()]
        while self._skip_blank() and self._text.startswith(".", self._pos):
            self._pos += 1
            keys.append(self._key())
        return keys

    def _key(self) -> str:
        self._skip_blank()
        bare = _BARE_KEY.match(self._text, self._pos)
        if bare:
            self._pos = bare.end()
            return bare[0]
        quoted = _STRING.match(self._text, self._pos)
        assert quoted
        self._pos = quoted.end()
        return quoted[0][1:-1] if quoted[0][0] == "'" else _unescape(quoted[0][1:-1])

    def _entry(self, table: KeyPath) -> None:
        key_place = self._here()
        paths = []
        for key in self._keys():
            table = (*table, key)
            paths.append(table)
        self._pos += 1
        self._skip_blank()
        place = self._here()
        for path in paths:
            self._note(path, key_place, place)
        self._value(table)

    def _value(self, path: KeyPath) -> None:
        match self._text[self._pos]:
            case "{":
                self._pos += 1
                while self._more("}"):
                    self._entry(path)
            case "[":
                self._pos += 1
                index = 0
                while self._more("]"):
                    place = self._here()
                    self._note((*path, index), place, place)
                    self._value((*path, index))
                    index += 1
            case _:
                matched = _STRING.match(self._text, self._pos) or _SCALAR.match(
                    self._text, self._pos
                )
                assert matched
                self._pos = matched.end()

    def _more(self, closing: str) -> bool:
        """Go to the next item between brackets; tell whether there is one."""
        self._skip_blank()
        if self._text[self._pos] == ",":
            self._pos += 1
            self._skip_blank()
        if self._text[self._pos] == closing:
            self._pos += 1
            return False
        return True


def _unescape(text: str) -> str:
    def replace(matched: re.Match[str]) -> str:
        short, long, letter = matched.groups()
        return chr(int(short or long, 16)) if short or long else _ESCAPES.get(letter, letter)

    return _ESCAPE.sub(replace, text)
