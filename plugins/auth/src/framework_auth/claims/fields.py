"""Read a JSON object of a JWT field by field: of the right type, or refused.

What is absent or null is as good as the value that Go gives to what nobody set.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

from framework_auth.claims.errors import ClaimsError
from framework_auth.claims.limits import (
    INT64_MAX,
    LIST_ITEMS_MAX,
    NUMBER_CHARS_MAX,
    SHOWN_CHARS_MAX,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    T = TypeVar("T")

_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Fields:
    """The fields of one object.

    Args:
        members: As JSON gave them.
        path: Where the object stands, for errors: `nats.limits`.
    """

    def __init__(self, members: Mapping[str, object], path: str = "") -> None:
        self._members = members
        self._path = path

    def names(self) -> Sequence[str]:
        """Return the names of all members."""
        return tuple(self._members)

    def has(self, name: str) -> bool:
        """Tell whether a member is there, and not null."""
        return self._members.get(name) is not None

    def text(self, name: str) -> str:
        """Return a string; empty when it is absent."""
        value = self._members.get(name)
        return "" if value is None else self._text(name, value)

    def flag(self, name: str) -> bool:
        """Return a boolean; False when it is absent."""
        value = self._members.get(name)
        if value is None:
            return False
        if not isinstance(value, bool):
            self._refuse(name, "a boolean")
        return value

    def number(self, name: str, default: int = 0) -> int:
        """Return an integer of 64 bits; `default` when it is absent."""
        value = self._members.get(name)
        return default if value is None else self._number(name, value)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of strings; empty when it is absent."""
        return tuple(self._text(name, item) for item in self.items(name))

    def objects(self, name: str) -> tuple[Fields, ...]:
        """Return a list of objects; empty when it is absent."""
        return tuple(self._object(name, item) for item in self.items(name))

    def nested(self, name: str) -> Fields:
        """Return an object; one without members when it is absent."""
        value = self._members.get(name)
        return self._object(name, {} if value is None else value)

    def table(self, name: str, read: Callable[[Fields, str], T]) -> dict[str, T]:
        """Return an object whose members all mean the same; empty when it is absent.

        Args:
            name: Of the object.
            read: Is given the object and the name of each of its members.
        """
        inner = self.nested(name)
        names = inner.names()
        if len(names) > LIST_ITEMS_MAX:
            self._refuse(name, f"at most {LIST_ITEMS_MAX} members")
        return {key: read(inner, key) for key in names}

    def items(self, name: str) -> Sequence[object]:
        """Return a list of anything; empty when it is absent."""
        value = self._members.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or len(value) > LIST_ITEMS_MAX:
            self._refuse(name, f"a list of at most {LIST_ITEMS_MAX} items")
        return value

    def raw(self, name: str) -> object:
        """Return a member as JSON gave it; None when it is absent."""
        return self._members.get(name)

    def choose(self, name: str, choices: Mapping[str, T]) -> T:
        """Return what the text of a member stands for; the empty text when it is absent."""
        text = self.text(name)
        if text not in choices:
            self._refuse(name, " or ".join(f"`{it}`" for it in choices if it))
        return choices[text]

    def _text(self, name: str, value: object) -> str:
        if not isinstance(value, str):
            self._refuse(name, "a string")
        # Half a pair can be escaped in JSON, and could then be encoded by nobody.
        return value if value.isascii() else _LONE_SURROGATE.sub("\ufffd", value)

    def _number(self, name: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > INT64_MAX:
            self._refuse(name, "an integer of 64 bits")
        return value

    def _object(self, name: str, value: object) -> Fields:
        if not isinstance(value, dict):
            self._refuse(name, "an object")
        return Fields(value, f"{self._path}.{name}" if self._path else name)

    def _refuse(self, name: str, expected: str) -> NoReturn:
        place = shown(f"{self._path}.{name}" if self._path else name)
        raise ClaimsError(f"{place} is not {expected}")


def parse_object(data: bytes) -> Fields:
    """Read a JSON object.

    Raises:
        ClaimsError: It is none, or nested too deeply, or has too long a number.
    """
    try:
        value: object = _DECODER.decode(data.decode())
    except RecursionError:
        raise ClaimsError("JSON is nested too deeply") from None
    except ValueError:  # what is no UTF-8, too
        raise ClaimsError("not a JSON object") from None
    if not isinstance(value, dict):
        raise ClaimsError("not a JSON object")
    return Fields(value)


def shown(text: str) -> str:
    """Return a text out of a token as an error may show it."""
    return ascii(text[:SHOWN_CHARS_MAX])[1:-1]


def _parse_int(digits: str) -> int:
    # Python reads 4,300 digits, in quadratic time.
    if len(digits) > NUMBER_CHARS_MAX:
        raise ClaimsError("a number is too long")
    return int(digits)


def _refuse_constant(name: str) -> NoReturn:
    raise ClaimsError(f"{name} is no JSON")


_DECODER: Final = json.JSONDecoder(parse_int=_parse_int, parse_constant=_refuse_constant)
