"""JSON documents as frozen records: bounded reading, compact writing.

A document class lists its fields by their JSON names. Fields that it doesn't know are ignored,
a null is as good as absent, and a value of the wrong type is a `ProtocolError`, as in nats-server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, NoReturn, TypeAlias, TypeVar, get_type_hints

from msgspec import Struct
from msgspec.structs import fields
from typing_extensions import override

from framework.errors import ProtocolError
from framework.wire.closed_state import ClosedState
from framework.wire.limits import (
    DOCUMENT_BYTES_MAX,
    INT64_MAX,
    INT64_MIN,
    NUMBER_CHARS_MAX,
)

_Reader: TypeAlias = Callable[[str, object], Any]
D = TypeVar("D", bound="Document")
T = TypeVar("T")

_LONE_SURROGATE = "[\ud800-\udfff]"


class Named(Struct, frozen=True):
    """Marks a field whose JSON name is no Python name, such as `pass`."""

    name: str


_ALWAYS = "always"
Always = Annotated[T, _ALWAYS]
"""Marks a field that is written even when it is false, 0 or empty."""
_OTHERS = "others"
Others = Annotated[T, _OTHERS]
"""Marks the field of type `Mapping[str, object]` that takes the members which the class has not."""
_HIDDEN = "hidden"
Secret = Annotated[T, _HIDDEN]
"""Marks a field that no log and no traceback may show."""


class Document(Struct, frozen=True, kw_only=True):
    """Base of the document classes.

    Their fields are of bool, int, str, `tuple[str, ...]`, or such a class | None; one may be
    marked as `Others`.
    """

    @override
    def __repr__(self) -> str:
        shown = (
            f"{member.attribute}={getattr(self, member.attribute)!r}"
            for member in _members(type(self))
            if not member.secret
        )
        return f"{type(self).__name__}({', '.join(shown)})"


class _Member(Struct, frozen=True):
    """One field of a document class."""

    attribute: str
    name: str
    always: bool
    secret: bool
    others: bool
    read: _Reader


def parse_document(cls: type[D], data: bytes) -> D:
    """Read one JSON object into `cls`.

    Args:
        cls: What it is read into.
        data: As it came from the peer; more than `DOCUMENT_BYTES_MAX` bytes are refused unread.

    Raises:
        ProtocolError: It is no JSON object, breaks a bound, or has a value of the wrong type.

    Cost: O(length); nesting costs no more than the interpreter's own recursion limit.
    """
    return _read_object(cls, "document", _parse_json(data))


def build_document(document: Document, extra: Mapping[str, object] | None = None) -> bytes:
    """Return `document` as compact JSON, without what is false, 0 or empty.

    Args:
        document: What is written.
        extra: Further members, which come after its own and win over them.
    """
    members = {**_values(document), **(extra or {})}
    return json.dumps(members, separators=(",", ":"), ensure_ascii=False).encode()


def _parse_json(data: bytes) -> object:
    if len(data) > DOCUMENT_BYTES_MAX:
        _refuse(f"{len(data)} bytes of JSON are more than {DOCUMENT_BYTES_MAX}")
    try:
        # Decoded here, because `json` would take UTF-16 and UTF-32 for JSON as well.
        value: object = _DECODER.decode(data.decode(errors="replace"))
    except RecursionError:
        _refuse("JSON is nested too deeply")
    except json.JSONDecodeError as error:
        _refuse(f"no JSON: {error.msg} at character {error.pos}")
    return value


def _parse_int(digits: str) -> int:
    # Python reads 4,300 digits, in quadratic time; no field of ours has more than 64 bits.
    if len(digits) > NUMBER_CHARS_MAX:
        _refuse(f"a number of {len(digits)} characters")
    return int(digits)


def _refuse_constant(name: str) -> NoReturn:
    _refuse(f"no JSON: {name}")


_DECODER = json.JSONDecoder(parse_int=_parse_int, parse_constant=_refuse_constant)


def _read_object(cls: type[D], name: str, value: object) -> D:
    if not isinstance(value, dict):
        _refuse(f"{name} is {_json_type(value)} and not an object")
    members = _members_by_name(cls)
    found = {
        members[key].attribute: members[key].read(key, item)
        for key, item in value.items()
        if key in members and item is not None
    }
    if others := _others(cls):
        found[others] = {key: item for key, item in value.items() if key not in members}
    return cls(**found)


def _list_members(cls: type[Any]) -> tuple[_Member, ...]:
    hints = get_type_hints(cls)
    marks = get_type_hints(cls, include_extras=True)
    return tuple(
        _member(item.name, hints[item.name], getattr(marks[item.name], "__metadata__", ()))
        for item in fields(cls)
    )


def _index_members(cls: type[Any]) -> Mapping[str, _Member]:
    return {member.name: member for member in _members(cls) if not member.others}


_members: Callable[[type[Any]], tuple[_Member, ...]] = cache(_list_members)  # type: ignore[assignment]  # mypy#11470
_members_by_name: Callable[[type[Any]], Mapping[str, _Member]] = cache(_index_members)  # type: ignore[assignment]  # mypy#11470


@cache
def _others(cls: type[Any]) -> str:
    """Return the attribute that takes members which the class has not; empty: none does."""
    return next((member.attribute for member in _list_members(cls) if member.others), "")


def _member(attribute: str, hint: Any, marks: Sequence[object]) -> _Member:
    names = [mark.name for mark in marks if isinstance(mark, Named)]
    name = (names or [attribute])[0]
    read = _reader(str if _OTHERS in marks else hint)
    return _Member(attribute, name, _ALWAYS in marks, _HIDDEN in marks, _OTHERS in marks, read)


def _reader(hint: Any) -> _Reader:
    if hint in _PLAIN_READERS:
        return _PLAIN_READERS[hint]
    nested, _none = hint.__args__
    return lambda name, value: _read_object(nested, name, value)


def _read_bool(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        _refuse(f"{name} is {_json_type(value)} and not a boolean")
    return value


def _read_int(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        _refuse(f"{name} is {_json_type(value)} and not an integer")
    if not INT64_MIN <= value <= INT64_MAX:
        _refuse(f"{name} does not fit into 64 bits")
    return value


def _read_str(name: str, value: object) -> str:
    if not isinstance(value, str):
        _refuse(f"{name} is {_json_type(value)} and not a string")
    # Half a pair can be escaped in JSON, and could then be encoded by nobody.
    return value if value.isascii() else re.sub(_LONE_SURROGATE, "\ufffd", value)


def _read_strings(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        _refuse(f"{name} is {_json_type(value)} and not a list")
    return tuple(_read_str(f"an item of {name}", item) for item in value)


_PLAIN_READERS: dict[Any, _Reader] = {
    bool: _read_bool,
    int: _read_int,
    str: _read_str,
    tuple[str, ...]: _read_strings,
}

_JSON_TYPES = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}


def _json_type(value: object) -> str:
    return "null" if value is None else _JSON_TYPES.get(type(value), "a number")


def _values(document: Document) -> dict[str, object]:
    values: dict[str, object] = {}
    others: Mapping[str, object] = {}
    for member in _members(type(document)):
        value = getattr(document, member.attribute)
        if member.others:
            others = value
        elif value or member.always:
            values[member.name] = _values(value) if isinstance(value, Document) else value
    return {**others, **values} if others else values


def _refuse(detail: str) -> NoReturn:
    # nats-server closes in silence here; a word helps who writes a client.
    raise ProtocolError(detail, text="Parser Error", reason=ClosedState.PROTOCOL_VIOLATION)
