"""Requests of the JetStream API: their JSON, and what is wrong with it.

Source: nats-server `jetstream_api.go`, `unmarshalRequest`, `isEmptyRequest`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from framework.wire.version import JETSTREAM_API_LEVEL
from framework_jetstream.api.errors import ErrCode, failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework_jetstream.api.records import Record

R = TypeVar("R", bound="Record")

LEVEL_HEADER: Final = "Nats-Required-Api-Level"
_UNKNOWN: Final = re.compile(r"unknown field `(.*?)`")


def is_empty(payload: bytes) -> bool:
    """Return whether a request brings no JSON."""
    return payload.strip()[:1] not in {b"{", b"["}


def read(record: type[R], payload: bytes) -> R:
    """Return what a request says; without JSON its defaults.

    Raises:
        ApiFailure: It is no such JSON.
    """
    if is_empty(payload):
        return record()
    try:
        return msgspec.json.decode(payload, type=record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise failure(ErrCode.INVALID_JSON, err=_problem(str(error))) from None


def _problem(text: str) -> str:
    """Return a mistake in the words of nats-server where they are known."""
    if unknown := _UNKNOWN.search(text):
        return f'json: unknown field "{unknown[1]}"'
    if "truncated" in text:
        return "unexpected EOF"
    return text


def check_level(headers: Mapping[str, tuple[str, ...]]) -> None:
    """Raise ApiFailure where a request needs another level of the API than this server's."""
    for value in headers.get(LEVEL_HEADER, ())[:1]:
        if not value.isdecimal() or int(value) > JETSTREAM_API_LEVEL:
            raise failure(ErrCode.REQUIRED_API_LEVEL)
