"""Answers of the JetStream API: their types, pages and errors.

Source: nats-server `jetstream_api.go`, response types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from framework_jetstream.api.records import encode, plain
from framework_jetstream.api.times import ZERO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework_jetstream.api.errors import ApiError

NAMES_MAX: Final = 1024
LIST_MAX: Final = 256
SUBJECTS_MAX: Final = 100_000

_ERROR_WITHIN: Final = 120
"""Bytes of an answer in which its error begins, if it has one."""

_ALSO: Final[dict[str, dict[str, Any]]] = {
    "stream_info": {"total": 0, "offset": 0, "limit": 0},
    "stream_purge": {"purged": 0},
    "stream_names": {"total": 0, "offset": 0, "limit": 0, "streams": None},
    "stream_list": {"total": 0, "offset": 0, "limit": 0, "streams": []},
    "stream_restore": {"deliver_subject": ""},
    "consumer_names": {"total": 0, "offset": 0, "limit": 0, "consumers": []},
    "consumer_list": {"total": 0, "offset": 0, "limit": 0, "consumers": []},
    "consumer_pause": {"paused": False, "pause_until": ZERO},
    "consumer_reset": {"reset_seq": 0},
}
"""What errors of an answer show beside the error."""


def answer(kind: str, fields: dict[str, Any]) -> bytes:
    """Return an answer.

    Args:
        kind: Such as `stream_info`.
        fields: Behind its type.
    """
    return encode({"type": f"io.nats.jetstream.api.v1.{kind}_response", **fields})


SYSTEM: Final = "system"
"""What answers to requests that nobody knows are called."""


def refused(kind: str, error: ApiError) -> bytes:
    """Return the answer of a request that can't be carried out."""
    shown = {"code": error.code, "err_code": error.err_code, "description": error.description}
    return answer(kind, {"error": shown, **_ALSO.get(kind, {})})


def is_refusal(text: bytes) -> bool:
    """Return whether an answer carries an error."""
    return b'"error":{' in text[:_ERROR_WITHIN]


def page(items: Sequence[Any], offset: int, limit: int, name: str) -> dict[str, Any]:
    """Return a page of a list: `offset` at most the end of it."""
    begin = min(max(offset, 0), len(items))
    shown = [plain(item) for item in items[begin : begin + limit]]
    empty: list[Any] | None = [] if name == "consumers" else None
    return {"total": len(items), "offset": begin, "limit": limit, name: shown or empty}
