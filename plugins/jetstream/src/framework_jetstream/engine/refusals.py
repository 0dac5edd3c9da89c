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
    (ErrCode.ACCOUNT_RESOURCES_EXCEEDED, {}),
    (ErrCode.COUNTER_INCR_INVALID, {}),
    (ErrCode.COUNTER_INCR_MISSING, {}),
    (ErrCode.COUNTER_WITH_PAYLOAD, {}),
    (ErrCode.COUNTER_BROKEN, {}),
    (ErrCode.ATOMIC_PUBLISH_MISSING_SEQ, {}),
    (ErrCode.ATOMIC_PUBLISH_INCOMPLETE_BATCH, {}),
    (ErrCode.ATOMIC_PUBLISH_UNSUPPORTED_HEADER, {"header": _SHOWN}),
    (ErrCode.ATOMIC_PUBLISH_INVALID_BATCH_ID, {}),
    (ErrCode.ATOMIC_PUBLISH_TOO_LARGE_BATCH, {"size": _SHOWN}),
    (ErrCode.ATOMIC_PUBLISH_INVALID_BATCH_COMMIT, {}),
    (ErrCode.ATOMIC_PUBLISH_CONTAINS_DUPLICATE, {}),
    (ErrCode.ATOMIC_PUBLISH_TOO_MANY_INFLIGHT, {}),
    (ErrCode.REQUIRED_API_LEVEL, {}),
    (ErrCode.ROLLUP_FAILED, {"err": "batch rollup sub invalid"}),
    (ErrCode.ROLLUP_FAILED, {"err": "batch rollup all invalid"}),
    (ErrCode.SCHEDULES_PATTERN_INVALID, {}),
    (ErrCode.SCHEDULES_TARGET_INVALID, {}),
    (ErrCode.SCHEDULES_TTL_INVALID, {}),
    (ErrCode.SCHEDULES_ROLLUP_INVALID, {}),
    (ErrCode.SCHEDULES_SOURCE_INVALID, {}),
    (ErrCode.SCHEDULES_SCHEDULER_INVALID, {}),
    (ErrCode.SCHEDULES_TIME_ZONE_INVALID, {}),
    (ErrCode.BATCH_PUBLISH_DISABLED, {}),
    (ErrCode.BATCH_PUBLISH_INVALID_PATTERN, {}),
    (ErrCode.BATCH_PUBLISH_INVALID_BATCH_ID, {}),
    (ErrCode.BATCH_PUBLISH_UNKNOWN_BATCH_ID, {}),
    (ErrCode.BATCH_PUBLISH_TOO_MANY_INFLIGHT, {}),
    (ErrCode.STREAM_OFFLINE, {}),
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
