"""Requests of the JetStream API: their JSON, and what is wrong with it.

Source: nats-server `jetstream_api.go`, `unmarshalRequest`, `isEmptyRequest`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from msgspec.inspect import DictType, ListType, LiteralType, StructType, Type, UnionType, type_info

from framework.wire.version import JETSTREAM_API_LEVEL
from framework_jetstream.api.errors import ErrCode, failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework_jetstream.api.records import Record

R = TypeVar("R", bound="Record")

LEVEL_HEADER: Final = "Nats-Required-Api-Level"
_LEVEL: Final = re.compile(r"[+-]?[0-9]{1,18}")
_UNKNOWN: Final = re.compile(r"unknown field `(.*?)`")


def is_empty(payload: bytes) -> bool:
    """Return whether a request brings no JSON."""
    return payload.strip()[:1] not in {b"{", b"["}


def is_empty_request(payload: bytes) -> bool:
    """Return whether a request says nothing at all: no bytes, or an object without members."""
    if not payload:
        return True
    try:
        return bool(msgspec.json.decode(payload) == {})
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def read(record: type[R], payload: bytes, *, is_strict: bool = True) -> R:
    """Return what a request says; without JSON its defaults.

    Args:
        record: What it is.
        payload: Of the request.
        is_strict: Fields that the record does not have are errors; else they are passed over.

    Raises:
        ApiFailure: It is no such JSON.
    """
    if is_empty(payload):
        return record()
    try:
        return _decode(record, payload, is_strict=is_strict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise failure(ErrCode.INVALID_JSON, err=_problem(str(error))) from None


def _decode(record: type[R], payload: bytes, *, is_strict: bool) -> R:
    if is_strict:
        try:
            return msgspec.json.decode(payload, type=record)
        except msgspec.ValidationError:
            if b"null" not in payload:
                raise
    value = msgspec.json.decode(payload)
    return msgspec.convert(_present(value, type_info(record), is_strict=is_strict), record)


def _present(value: object, kind: Type, *, is_strict: bool) -> object:
    """Return a value without members that are null; words of a choice may not be null.

    Args:
        value: Of JSON.
        kind: What it is to be.
        is_strict: Members that records don't have stay.
    """
    if isinstance(kind, UnionType):
        structs = [it for it in kind.types if isinstance(it, StructType | ListType | DictType)]
        return _present(value, structs[0], is_strict=is_strict) if structs else value
    if isinstance(kind, StructType) and isinstance(value, dict):
        fields = {it.encode_name: it.type for it in kind.fields}
        return {
            name: _present(it, fields.get(name, kind), is_strict=is_strict)
            for name, it in value.items()
            if (is_strict if name not in fields else it is not None or _is_word(fields[name]))
        }
    if isinstance(kind, ListType) and isinstance(value, list):
        return [_present(it, kind.item_type, is_strict=is_strict) for it in value]
    if isinstance(kind, DictType) and isinstance(value, dict):
        return {
            name: _present(it, kind.value_type, is_strict=is_strict) for name, it in value.items()
        }
    return value


def _is_word(kind: Type) -> bool:
    return isinstance(kind, LiteralType)


def _problem(text: str) -> str:
    """Return a mistake in the words of nats-server where they are known."""
    if unknown := _UNKNOWN.search(text):
        return f'json: unknown field "{unknown[1]}"'
    if "truncated" in text:
        return "unexpected EOF"
    return text


def check_account_name(account: str) -> None:
    """Raise ApiFailure for a name that no account can have, since folders are called so."""
    if "/" in account or "\\" in account:
        problem = "account name can not contain path separators"
        raise failure(ErrCode.STREAM_GENERAL, err=problem)


def check_level(headers: Mapping[str, tuple[str, ...]]) -> None:
    """Raise ApiFailure where a request needs another level of the API than this server's."""
    for value in headers.get(LEVEL_HEADER, ())[:1]:
        if value and not _LEVEL.fullmatch(value):
            raise failure(ErrCode.REQUIRED_API_LEVEL)
        if value and int(value) > JETSTREAM_API_LEVEL:
            raise failure(ErrCode.REQUIRED_API_LEVEL)
