"""What publishers are told whose messages are not stored, in the order of `Refusal`."""

from __future__ import annotations

import json
from typing import Final

from framework_jetstream.api.errors import ApiError, ErrCode, api_error

_SHOWN: Final = "\x00"
"""Stands where the engine writes a sequence or an id."""

_REFUSALS: Final[tuple[tuple[ErrCode, dict[str, str]], ...]] = (
    (ErrCode.GENERIC, {"err": "stored"}),
    (ErrCode.STREAM_SEALED, {}),
    (ErrCode.HEADER_EXCEEDS_MAXIMUM, {}),
    (ErrCode.MESSAGE_TOO_LARGE, {}),
    (ErrCode.MESSAGE_TTL_DISABLED, {}),
    (ErrCode.MESSAGE_TTL_INVALID, {}),
    (ErrCode.COUNTER_DISABLED, {}),
    (ErrCode.ATOMIC_PUBLISH_DISABLED, {}),
    (ErrCode.SCHEDULES_DISABLED, {}),
    (ErrCode.STREAM_SOURCE_HEADER_NOT_ALLOWED, {}),
    (ErrCode.STREAM_NOT_MATCH, {}),
    (ErrCode.WRONG_LAST_SEQUENCE, {"seq": _SHOWN}),
    (ErrCode.WRONG_LAST_SEQUENCE_CONSTANT, {}),
    (ErrCode.WRONG_LAST_MSG_ID, {"id": _SHOWN}),
    (ErrCode.EXPECTED_LAST_SEQUENCE_MISSING, {}),
    (ErrCode.ROLLUP_FAILED, {"err": "rollup not permitted"}),
    (ErrCode.ROLLUP_FAILED, {"err": f'rollup value invalid: "{_SHOWN}"'}),
    (ErrCode.STORE_FAILED, {"err": "maximum messages exceeded"}),
    (ErrCode.STORE_FAILED, {"err": "maximum bytes exceeded"}),
    (ErrCode.STORE_FAILED, {"err": "maximum messages per subject exceeded"}),
    (ErrCode.MEMORY_RESOURCES_EXCEEDED, {}),
    (ErrCode.INSUFFICIENT_RESOURCES, {}),
)


def refusal_texts() -> list[tuple[bytes, bytes]]:
    """Return JSON of each, up to where something is shown, and behind it."""
    return [_split(api_error(code, **shown)) for code, shown in _REFUSALS]


def _split(error: ApiError) -> tuple[bytes, bytes]:
    body = {
        "code": error.code,
        "err_code": error.err_code,
        "description": error.description,
    }
    text = '{"error":' + json.dumps(body, separators=(",", ":"))
    before, _, after = text.partition(json.dumps(_SHOWN)[1:-1])
    return before.encode(), after.encode()
