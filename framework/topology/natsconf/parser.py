"""Parse nats-server's configuration language: keys, blocks, lists, includes, variables.

    file   = { "{" | "}" | entry }          braces around the whole are for JSON
    entry  = key [ "=" | ":" ] value  |  "include" path
    key    = quoted, or anything up to a space, "=" or ":"
    value  = "{" { entry separator } "}"  |  "[" { value separator } "]"  |  "$" name  |  scalar
    separator = newline | "," | ";" (not in lists)
    comment   = ("#" | "//") to the end of the line, wherever a key or separator may stand

Every word of this grammar that looks odd is nats-server's: between a key and its value a
newline is white space, a comma must not lead, `a = }` is an empty text.

What nats-server accepts and we refuse, on purpose: a key without a value in a block, and an
unknown unit after a number (there it pairs later keys with wrong values); numbers that
overflow 64 bits by their unit; an unclosed list or text at the end of a file; NUL bytes.

Source: nats-server 2.15.2, by comparing what both make of the same files.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from framework.topology.limits import NESTING_MAX
from framework.topology.natsconf.scalars import Variable, scan_scalar, word_value
from framework.topology.node import Node

if TYPE_CHECKING:
    from framework.topology.errors import TopologyErrors
    from framework.topology.natsconf.source import Source
    from framework.topology.node import Scalar, Spot, Table

__all__ = ["Parser", "Surroundings"]

_SPACE = " \t\n\v\f\r\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_SPACES = re.compile(f"[{_SPACE}]*")
_LINES = re.compile(r"[ \t\n\r]*")
_BLANKS = re.compile(r"[ \t]*")
_KEY_REST = re.compile(f"[^{_SPACE}=:]*")
_COMMENT = re.compile(r"(?:#|//)[^\n\r]*")
_PLAIN_ENTRY = re.compile(
    r"[ \t\n\r]*(?!(?i:include)\b)([A-Za-z_]\w*)[ \t]*[:=][ \t]*"
    r"""(?:"([^"\\]*)"|([A-Za-z/][^\n\r;,\]}\t '\\]*))[ \t]*([,;\n\r}])""",
    re.ASCII,
)
"""A key and a text, as nearly all entries of large files are: read in one step."""
_INCLUDE_WORD = re.compile(r"[^\n\r;}\t ']*")

_QUOTES = ("'", '"')
_BCRYPT_PREFIX = "2a$"
_LIST_FIX = "close it with `]`, and leave a blank between a number and that"


class Surroundings(Protocol):
    """Includes and variables that a file may refer to."""

    def include(self, path: str, source: Source, offset: int) -> Table:
        """Return the entries of another file; `offset` is where it is asked for."""

    def variable(self, name: str, source: Source, offset: int) -> Node | None:
        """Return the value of a variable of the environment; None if there is none."""


class Parser:
    """Parse one file.

    Args:
        source: The text.
        surroundings: Gives included files and variables of the environment.
    """

    def __init__(self, source: Source, surroundings: Surroundings) -> None:
        self._source = source
        self._text = source.text
        self._surroundings = surroundings
        self._pos = 0
        self._scopes: list[Table] = [{}]
        self._nesting = 0

    def parse(self) -> Table:
        """Return the entries of the whole text.

        Raises:
            TopologyErrors: The first mistake in it.
        """
        nul = self._text.find("\0")
        if nul >= 0:
            raise self._source.parse_error(nul, "a NUL byte", "is this a text file?")
        while self._skip(_SPACES):
            if self._at() == "{":
                self._braced()
            elif not self._comment():
                self._entry()
                self._end_of_top_entry()
        return self._scopes[0]

    # -- reading on

    def _at(self) -> str:
        """Return the next character; empty at the end."""
        return self._text[self._pos : self._pos + 1]

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        """Go behind what a pattern matches here; tell whether any text is left."""
        matched = pattern.match(self._text, self._pos)
        assert matched
        self._pos = matched.end()
        return self._pos < len(self._text)

    def _comment(self) -> bool:
        """Skip a comment if one is here, up to the newline."""
        matched = _COMMENT.match(self._text, self._pos)
        if matched:
            self._pos = matched.end()
        return matched is not None

    def _error(self, problem: str, fix: str = "", *, at: int | None = None) -> TopologyErrors:
        return self._source.parse_error(self._pos if at is None else at, problem, fix)

    def _enter(self) -> None:
        """Go into a block or list, behind its first character."""
        self._nesting += 1
        if self._nesting > NESTING_MAX:
            raise self._error(f"more than {NESTING_MAX} blocks and lists within each other")
        self._pos += 1

    # -- the file's own level

    def _braced(self) -> bool:
        """Read entries in braces around the whole; tell whether the brace was closed."""
        self._enter()
        closed = False
        while not closed and self._skip(_SPACES):
            match self._at():
                case "}":
                    self._pos += 1
                    closed = True
                case "{":
                    if not self._braced():
                        break
                    closed = self._end_of_inner_braces()
                case _ if self._comment():
                    pass
                case _:
                    if not self._entry():
                        break
                    closed = self._end_of_braced_entry()
        self._nesting -= 1
        return closed

    def _end_of_top_entry(self) -> None:
        while self._skip(_BLANKS) and not self._comment():
            char = self._at()
            self._pos += 1
            if char in "\n\r;,}":
                return
            if char != "/":
                self._pos -= 1
                raise self._error(
                    f"expected the end of the line after a value, found `{char}`",
                    "quote a text with blanks in it",
                )

    def _end_of_braced_entry(self) -> bool:
        """Skip what may follow an entry; tell whether the brace was closed."""
        while self._skip(_BLANKS):
            if self._comment():
                continue
            char = self._at()
            if char not in "\n\r;,}/":
                break
            self._pos += 1
            if char != "/":
                return char == "}"
        raise self._error("expected the end of the line or `}` after a value")

    def _end_of_inner_braces(self) -> bool:
        """Skip what may follow braces in braces; tell whether the outer one was closed."""
        while self._skip(_LINES):
            if self._comment():
                return False
            char = self._at()
            if char not in ";,}/":
                break
            self._pos += 1
            if char != "/":
                return char == "}"
        raise self._error("expected `}`")

    def _entry(self) -> bool:
        """Read one entry; tell whether there was one, since a lone `}` or quote may end a file."""
        start = self._pos
        if self._at() == "/":
            raise self._error("a key cannot begin with `/`", "a comment begins with `//`")
        if self._at() in _QUOTES and start + 1 == len(self._text):
            self._pos += 1
            return False
        key = self._key()
        if key is None:
            return True
        if not self._skip(_SPACES):
            if key == "}":
                return False
            raise self._source.value_error(start, f"`{key}` has no value")
        if self._at() in "=:":
            self._pos += 1
        self._set(key, start)
        return True

    # -- at every level

    def _key(self) -> str | None:
        """Read a key, up to the white space behind it; None if it was an include."""
        start, char = self._pos, self._at()
        if char in "=:":
            raise self._error(f"expected a key, found `{char}`")
        if char in _QUOTES:
            end = self._text.find(char, start + 1)
            if end < 0:
                raise self._error("a quoted key has no end")
            self._pos = end + 1
            return self._text[start + 1 : end]
        self._pos += 1
        more = self._skip(_KEY_REST)
        key = self._text[start : self._pos]
        if more and key.lower() == "include" and self._at() not in "=:":
            self._include(start)
            return None
        return key

    def _set(self, key: str, key_offset: int) -> None:
        """Read a value and enter it under a key; the last one wins, and stands last."""
        node = self._value((self._source, key_offset))
        scope = self._scopes[-1]
        if key in scope:
            del scope[key]
        scope[key] = node

    def _include(self, start: int) -> None:
        """Read the path of an include, and enter what that file says."""
        self._skip(_BLANKS)
        char = self._at()
        if char in _QUOTES:
            end = self._text.find(char, self._pos + 1)
            path, behind = self._text[self._pos + 1 : end], end + 1
            if end < 0:
                raise self._error("a quoted path has no end")
        elif char in "[{(-\\\n\r" or char.isdecimal():
            raise self._error("`include` needs a path", "quote a path that begins oddly")
        else:
            matched = _INCLUDE_WORD.match(self._text, self._pos)
            assert matched
            path, behind = matched[0], matched.end()
            behind += self._text[behind : behind + 1] == "'"
        self._pos = behind
        scope = self._scopes[-1]
        for key, node in self._surroundings.include(path, self._source, start).items():
            scope.pop(key, None)
            scope[key] = node

    def _value(self, key_spot: Spot | None = None) -> Node:
        self._skip(_BLANKS)
        start = self._pos
        value: Scalar | list[Node] | Table | Variable
        match self._at():
            case "{":
                value = self._block()
            case "[":
                value = self._list()
            case _:
                value, self._pos = scan_scalar(self._source, start)
        if isinstance(value, Variable):
            value = self._reference(value.name, start)
        return Node(value, (self._source, start), key_spot)

    def _reference(self, name: str, start: int) -> Scalar | list[Node] | Table:
        """Return what `$name` stands for: the nearest enclosing block that has said so far."""
        if name.startswith(_BCRYPT_PREFIX):
            return f"${name}"
        for scope in reversed(self._scopes):
            if name in scope:
                scope[name].used_as_variable = True
                return scope[name].value
        found = self._surroundings.variable(name, self._source, start)
        if found is None:
            raise self._source.value_error(
                start,
                f"the variable ${name} is neither set above nor in the environment",
                "quote a text that begins with `$`",
            )
        return found.value

    def _block(self) -> Table:
        start = self._pos
        self._enter()
        scope: Table = {}
        self._scopes.append(scope)
        closed = False
        while not closed and not self._plain_entries(scope):
            if not self._skip(_SPACES):
                raise self._error("a block has no end", "close it with `}`", at=start)
            if self._at() == "}":
                self._pos += 1
                closed = True
            elif not self._comment():
                self._block_entry()
                closed = self._ends("}", ";,\n\r/")
        self._scopes.pop()
        self._nesting -= 1
        return scope

    def _plain_entries(self, scope: Table) -> bool:
        """Read entries as long as they are plain ones; tell whether the block was closed."""
        text, source = self._text, self._source
        while entry := _PLAIN_ENTRY.match(text, self._pos):
            key, quoted, word, end = entry.groups()
            value = word_value(word) if quoted is None else quoted
            scope.pop(key, None)
            spot = (source, entry.start(3 if quoted is None else 2) - (quoted is not None))
            scope[key] = Node(value, spot, (source, entry.start(1)))
            self._pos = entry.end()
            if end == "}":
                return True
        return False

    def _block_entry(self) -> None:
        start = self._pos
        match self._at():
            case "]":
                raise self._error("expected a key, found `]`")
            case "/":
                # nats-server drops the slash and takes whatever follows for a key.
                start += 1
                self._pos += 2
                self._skip(_KEY_REST)
                key: str | None = self._text[start : self._pos]
            case _:
                key = self._key()
        if key is None:
            return
        self._skip(_SPACES)
        if self._at() and self._at() in "=:":
            self._pos += 1
            self._skip(_SPACES)
        if self._at() in ",}":
            raise self._error(f"`{key}` has no value", at=start)
        self._set(key, start)

    def _list(self) -> list[Node]:
        start = self._pos
        self._enter()
        items: list[Node] = []
        while self._skip(_SPACES):
            char = self._at()
            if char == "]":
                self._pos += 1
                break
            if not self._comment():
                if char in ",/":
                    raise self._error(f"expected a value, found `{char}`")
                items.append(self._value())
                if self._ends("]", ",\n\r/"):
                    break
        else:
            raise self._error("a list has no end", _LIST_FIX, at=start)
        self._nesting -= 1
        return items

    def _ends(self, closing: str, separators: str) -> bool:
        """Go behind what separates two items; tell whether it was the end of them all."""
        while self._skip(_BLANKS):
            if not self._comment():
                char = self._at()
                if char != closing and char not in separators:
                    break
                self._pos += 1
                return char == closing
        raise self._error(
            f"expected `,`, a newline or `{closing}` after a value",
            _LIST_FIX if closing == "]" else "",
        )
