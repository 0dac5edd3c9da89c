"""Errors of the JetStream API: nats-server's codes and texts, from one table.

Source: nats-server `errors.json`.
"""

from __future__ import annotations

import json
from enum import IntEnum
from functools import cache
from importlib import resources
from typing import Final

from msgspec import Struct

from framework.errors import FrameworkError


class ErrCode(IntEnum):
    """The errors that this server answers, by what nats-server's table calls them."""

    ACCOUNT_RESOURCES_EXCEEDED = 10002
    BAD_REQUEST = 10003
    GENERIC = 10005
    INSUFFICIENT_RESOURCES = 10023
    INVALID_JSON = 10025
    CONSUMER_NAME_EXISTS = 10013
    CONSUMER_NOT_FOUND = 10014
    MAXIMUM_CONSUMERS_REACHED = 10026
    MAXIMUM_STREAMS_REACHED = 10027
    MEMORY_RESOURCES_EXCEEDED = 10028
    MESSAGE_NOT_FOUND = 10037
    NOT_EMPTY_REQUEST = 10038
    NOT_ENABLED_FOR_ACCOUNT = 10039
    SEQUENCE_NOT_FOUND = 10043
    STREAM_GENERAL = 10051
    STORAGE_RESOURCES_EXCEEDED = 10047
    STREAM_CREATE = 10049
    STREAM_DELETE = 10050
    STREAM_INVALID_CONFIG = 10052
    MESSAGE_TOO_LARGE = 10054
    STREAM_MISMATCH = 10056
    MSG_DELETE_FAILED = 10057
    STREAM_NAME_EXISTS = 10058
    STREAM_NOT_FOUND = 10059
    STREAM_NOT_MATCH = 10060
    STREAM_RESTORE = 10062
    WRONG_LAST_MSG_ID = 10070
    WRONG_LAST_SEQUENCE = 10071
    STREAM_SUBJECTS_OVERLAP = 10065
    REPLICAS_NOT_SUPPORTED = 10074
    NOT_ENABLED = 10076
    STORE_FAILED = 10077
    HEADER_EXCEEDS_MAXIMUM = 10097
    STREAM_SEALED = 10109
    STREAM_PURGE_FAILED = 10110
    STREAM_MAX_BYTES_REQUIRED = 10113
    NO_LIMITS = 10120
    CONSUMER_MAX_ACK_PENDING_EXCESS = 10121
    CONSUMER_MAX_REQUEST_BATCH_EXCEEDED = 10125
    STREAM_MAX_STREAM_BYTES_EXCEEDED = 10122
    ROLLUP_FAILED = 10111
    STREAM_NAME_EXISTS_RESTORE = 10130
    SNAPSHOT_DELIVER_SUBJECT_INVALID = 10015
    STREAM_NAME_CONTAINS_PATH_SEPARATORS = 10128
    REPLICAS_CANNOT_BE_NEGATIVE = 10133
    PEDANTIC = 10157
    WRONG_LAST_SEQUENCE_CONSTANT = 10164
    MESSAGE_TTL_INVALID = 10165
    MESSAGE_TTL_DISABLED = 10166
    COUNTER_DISABLED = 10168
    ATOMIC_PUBLISH_DISABLED = 10174
    REQUIRED_API_LEVEL = 10185
    SCHEDULES_DISABLED = 10188
    CLUSTER_REQUIRED = 10010
    CONSUMER_CREATE = 10012
    CONSUMER_EPHEMERAL_WITH_DURABLE_SUBJECT = 10019
    CONSUMER_EPHEMERAL_WITH_DURABLE_NAME = 10020
    CONSUMER_DURABLE_NAME_NOT_MATCH_SUBJECT = 10017
    CONSUMER_DURABLE_NAME_NOT_SET = 10018
    CONSUMER_DELIVER_TO_WILDCARDS = 10079
    CONSUMER_PUSH_MAX_WAITING = 10080
    CONSUMER_DELIVER_CYCLE = 10081
    CONSUMER_SMALL_HEARTBEAT = 10083
    CONSUMER_PULL_WITH_RATE_LIMIT = 10086
    CONSUMER_MAX_WAITING_NEGATIVE = 10087
    CONSUMER_HEARTBEAT_REQUIRES_PUSH = 10088
    CONSUMER_FLOW_CONTROL_REQUIRES_PUSH = 10089
    CONSUMER_DIRECT_REQUIRES_PUSH = 10090
    CONSUMER_INVALID_POLICY = 10094
    CONSUMER_INVALID_SAMPLING = 10095
    CONSUMER_STORE_FAILED = 10104
    CONSUMER_DESCRIPTION_TOO_LONG = 10107
    CONSUMER_FLOW_CONTROL_NEEDS_HEARTBEATS = 10108
    CONSUMER_INVALID_DELIVER_SUBJECT = 10112
    CONSUMER_MAX_REQUEST_EXPIRES_TOO_SMALL = 10115
    CONSUMER_MAX_DELIVER_BACKOFF = 10116
    CONSUMER_CREATE_FILTER_SUBJECT_MISMATCH = 10131
    CONSUMER_DUPLICATE_FILTER_SUBJECTS = 10136
    CONSUMER_MULTIPLE_FILTERS_NOT_ALLOWED = 10137
    CONSUMER_OVERLAPPING_SUBJECT_FILTERS = 10138
    CONSUMER_EMPTY_FILTER = 10139
    CONSUMER_ALREADY_EXISTS = 10148
    CONSUMER_DOES_NOT_EXIST = 10149
    CONSUMER_ACK_WAIT_NEGATIVE = 10183
    CONSUMER_BACKOFF_NEGATIVE = 10184
    EXPECTED_LAST_SEQUENCE_MISSING = 10193
    STREAM_SOURCE_HEADER_NOT_ALLOWED = 10227


class ApiError(Struct, frozen=True):
    """An error as answers carry it."""

    code: int
    """As HTTP's."""
    err_code: int
    description: str


class ApiFailure(FrameworkError):  # noqa: N818 - the error is what it carries
    """A request can't be carried out; its answer is the error."""

    def __init__(self, error: ApiError) -> None:
        super().__init__(error.description)
        self.error: Final = error


@cache
def _table() -> dict[int, ApiError]:
    text = resources.files("framework_jetstream.api").joinpath("errors.json").read_text("utf-8")
    return {row["err_code"]: ApiError(**row) for row in json.loads(text)}


def api_error(code: ErrCode, **shown: object) -> ApiError:
    """Return an error, with what its text shows in place of `{...}`."""
    error = _table()[code]
    description = error.description
    for name, value in shown.items():
        description = description.replace(f"{{{name}}}", str(value))
    return ApiError(error.code, error.err_code, description)


def failure(code: ErrCode, **shown: object) -> ApiFailure:
    """Return what to raise for an error."""
    return ApiFailure(api_error(code, **shown))
