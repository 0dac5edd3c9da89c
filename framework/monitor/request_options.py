"""Read the options of a monitoring document, from the query of a URL or the JSON of a request.

Source: nats-server `events.go`, `zReq`; `monitor.go`, the `json` tags of `ConnzOptions` and others.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct

from framework.errors import BadOptions
from framework.spec.query import read_bool, read_int, read_text, read_texts, read_unsigned
from framework.spec.request_options import option_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.spec import MonitorEndpoint
    from framework.spec.request_options import OptionField

S = TypeVar("S", bound=Struct)

_INT_MAX: Final = 2**63 - 1
_UNSIGNED_MAX: Final = 2**64 - 1
_NUMBER_SHOWN_CHARS_MAX: Final = 100
_FROM_QUERY: Final[Mapping[str, Callable[[Mapping[str, str], str], object]]] = {
    "bool": read_bool,
    "int": read_int,
    "uint64": read_unsigned,
    "string": read_text,
    "[]string": read_texts,
}


async def answer_query(endpoint: MonitorEndpoint, query: Mapping[str, str]) -> object:
    """Return the document of an endpoint for the query of a URL.

    Raises:
        BadQuery: A value makes no sense.
        NoAnswer: Nothing is to be answered.
    """
    return await endpoint.answer(options_from_query(endpoint.options, query))


async def answer_request(
    endpoint: MonitorEndpoint, members: Mapping[str, object], *, account: str = ""
) -> object:
    """Return the document of an endpoint for a request.

    Args:
        endpoint: Who is asked.
        members: Of the request's JSON, as `members_of_payload` returns them.
        account: That of the subject, which counts more than one in the options; empty: none.

    Raises:
        BadOptions: A value has the wrong type: error 400 of the answer.
        BadQuery: A value makes no sense: error 500 of the answer.
        NoAnswer: Nothing is to be answered.
    """
    options = options_from_members(endpoint.options, members, account=account)
    return await endpoint.answer(options)


def options_from_query(record: type[S], query: Mapping[str, str]) -> S:
    """Return the options that a query sets.

    Raises:
        BadQuery: A value has the wrong type; in the words of nats-server's `decodeInt` and others.
    """
    values = {}
    for field in option_fields(record):
        name, read = field.in_query.name, field.in_query.read
        if name and query.get(name):
            values[field.name] = (read or _FROM_QUERY[field.kind])(query, name)
    return record(**values)


def members_of_payload(payload: bytes) -> dict[str, object]:
    """Return the members of a request's JSON, by names in lower case: Go does not mind the case.

    Raises:
        BadOptions: It is no JSON object.
    """
    if not payload:
        return {}
    try:
        document = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise BadOptions(f"no JSON: {error}") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        found = _go_name(document, "object")
        raise BadOptions(f"json: cannot unmarshal {found} into options: an object is expected")
    return {name.lower(): value for name, value in document.items()}


def options_from_members(record: type[S], members: Mapping[str, object], *, account: str = "") -> S:
    """Return the options that a request's JSON sets; others in it are not looked at.

    Args:
        record: The Struct that holds the options.
        members: As `members_of_payload` returns them.
        account: Goes into the field `account`, or as the only one into `accounts`; empty: none.

    Raises:
        BadOptions: A value has the wrong type.
    """
    values: dict[str, object] = {}
    for field in option_fields(record):
        value = members.get(field.json_name.lower())
        if value is not None:
            values[field.name] = _value(record, field, value)
    if account:
        is_one = "account" in record.__struct_fields__
        values |= {"account": account} if is_one else {"accounts": (account,)}
    return record(**values)


def _value(record: type[Struct], field: OptionField, value: object) -> object:
    match field.kind, value:
        case ("bool", bool()) | ("string", str()):
            return value
        case "[]string", list():
            wrong = [it for it in value if not isinstance(it, str)]
            if not wrong:
                return tuple(value)
            raise _mismatch(record, field, wrong[0], "string")
        case "int", int() if _is_number(value, -_INT_MAX - 1, _INT_MAX):
            return value
        case "uint64", int() if _is_number(value, 0, _UNSIGNED_MAX):
            return value
        case _:
            raise _mismatch(record, field, value, field.kind)


def _is_number(value: int, minimum: int, maximum: int) -> bool:
    return not isinstance(value, bool) and minimum <= value <= maximum


def _mismatch(record: type[Struct], field: OptionField, value: object, kind: str) -> BadOptions:
    """Return the error in Go's words: it names a field by the structs around it."""
    name = record.__name__
    path = f"{name.removesuffix('Options')}EventOptions.{name}.{field.json_name}"
    found = _go_name(value, kind)
    return BadOptions(f"json: cannot unmarshal {found} into Go struct field {path} of type {kind}")


def _go_name(value: object, kind: str) -> str:
    """Return what Go calls a JSON value; of a number that doesn't fit a number, the number too."""
    match value:
        case bool():
            return "bool"
        case int() | float():
            is_shown = kind in {"int", "uint64"}
            return f"number {json.dumps(value)[:_NUMBER_SHOWN_CHARS_MAX]}" if is_shown else "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
