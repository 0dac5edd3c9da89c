"""What is wrong with requests before anybody looks whether their stream is there.

Source: nats-server `jetstream_api.go`, the order of checks of each request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.api.records import (
    ConsumerPauseRequest,
    ConsumerUnpinRequest,
    CreateConsumerRequest,
    MessageDeleteRequest,
    MessageGetRequest,
    PagedRequest,
    PurgeRequest,
    Record,
    StreamExportRequest,
    StreamInfoRequest,
)
from framework_jetstream.api.requests import is_empty_request, read

if TYPE_CHECKING:
    from collections.abc import Mapping

_RECORDS: Final[Mapping[str, type[Record]]] = {
    "stream_info": StreamInfoRequest,
    "stream_purge": PurgeRequest,
    "stream_export": StreamExportRequest,
    "stream_msg_get": MessageGetRequest,
    "stream_msg_delete": MessageDeleteRequest,
    "consumer_create": CreateConsumerRequest,
    "consumer_names": PagedRequest,
    "consumer_list": PagedRequest,
    "consumer_pause": ConsumerPauseRequest,
}
"""What requests are read as."""

_EMPTY: Final = frozenset({"stream_delete", "consumer_info", "consumer_delete"})
_FULL: Final = frozenset({"stream_snapshot", "stream_msg_get", "stream_msg_delete"})
"""Requests that must be, or must not be, empty."""

_BEFORE_ALL: Final = frozenset({"consumer_create", "consumer_info", "consumer_pause"})
"""Those that are judged before it is known whether the account may have streams."""


def check_before_all(kind: str, payload: bytes, *, is_strict: bool) -> None:
    """Raise ApiFailure for what is wrong with a request, whoever asks."""
    if kind == "consumer_unpin":
        _check_unpin(payload)
    elif kind in _BEFORE_ALL:
        _check(kind, payload, is_strict=is_strict)


def check_without_stream(kind: str, stream: str, payload: bytes, *, is_strict: bool) -> None:
    """Raise ApiFailure for what is wrong with a request about a stream that is not there."""
    _check(kind, payload, is_strict=is_strict)
    if kind == "consumer_create":
        wanted = read(CreateConsumerRequest, payload, is_strict=is_strict)
        if wanted.stream_name != stream:
            raise failure(ErrCode.STREAM_MISMATCH)
    raise failure(ErrCode.STREAM_NOT_FOUND)


def _check(kind: str, payload: bytes, *, is_strict: bool) -> None:
    is_empty = is_empty_request(payload)
    if kind in _EMPTY and not is_empty:
        raise failure(ErrCode.NOT_EMPTY_REQUEST)
    if kind in _FULL and is_empty:
        raise failure(ErrCode.BAD_REQUEST)
    if kind in _RECORDS:
        read(_RECORDS[kind], payload, is_strict=is_strict)


def _check_unpin(payload: bytes) -> None:
    if not payload:
        raise failure(ErrCode.INVALID_JSON, err="unexpected end of JSON input")
    if not read(ConsumerUnpinRequest, payload, is_strict=False).group:
        raise failure(ErrCode.INVALID_JSON, err="consumer group not specified")
