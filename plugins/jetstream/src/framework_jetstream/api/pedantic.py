"""Pedantic requests: what would be put right for others is an error of theirs.

Source: nats-server `stream.go`, `checkStreamCfgLocked`; `consumer.go`, `setConsumerConfigDefaults`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework_jetstream.api.errors import ErrCode, failure

if TYPE_CHECKING:
    from framework_jetstream.api.records import ConsumerConfig, StreamConfig

_ACK_WAIT_NS: Final = 30_000_000_000
_STREAM_LIMITS: Final = (
    *("max_msgs", "max_msgs_per_subject", "max_bytes", "max_msg_size"),
    "max_consumers",
)
# What a request brings below nothing is nothing, unless the request is pedantic.
NEVER_NEGATIVE: Final = (
    *("max_waiting", "max_batch", "max_expires", "max_bytes", "idle_heartbeat"),
    *("inactive_threshold", "priority_timeout"),
)


def _refused(problem: str) -> Exception:
    return failure(ErrCode.PEDANTIC, err=problem)


def check_stream(wanted: StreamConfig, window_ns: int, limit_ns: int) -> None:
    """Raise ApiFailure for what a stream's configuration does not say as it will be.

    Args:
        wanted: As the request brings it.
        window_ns: In which duplicates are found by default.
        limit_ns: Of that window, by the server; 0: there is none.
    """
    for name in _STREAM_LIMITS:
        if getattr(wanted, name) < -1:
            raise _refused(f"{name} must be set to -1")
    if wanted.duplicate_window or wanted.mirror or wanted.sources:
        return
    if 0 < limit_ns < window_ns:
        raise _refused("duplicate window limits are higher than current limits")
    if 0 < wanted.max_age < window_ns:
        raise _refused("duplicate window cannot be bigger than max age")


def check_consumer(wanted: ConsumerConfig, stream: StreamConfig, batch_max: int) -> None:
    """Raise ApiFailure for what a consumer's configuration does not say as it will be.

    Args:
        wanted: As the request brings it.
        stream: Of the stream, which may have limits of its own.
        batch_max: Messages of one request, by the server; 0: any number.
    """
    if wanted.max_deliver < -1:
        raise _refused("max_deliver must be set to -1")
    if wanted.max_ack_pending < -1:
        raise _refused("max_ack_pending must be set to -1")
    for name in NEVER_NEGATIVE:
        if getattr(wanted, name) < 0:
            raise _refused(f"{name} must not be negative")
    if wanted.backoff and _settled_wait(wanted) != wanted.backoff[0]:
        raise _refused("first backoff value has to equal batch AckWait")
    for name in ("max_ack_pending", "inactive_threshold"):
        if not getattr(wanted, name) and getattr(stream.consumer_limits, name) > 0:
            raise _refused(f"{name} must be set if it's configured in stream limits")
    if not wanted.deliver_subject and not wanted.max_batch and batch_max > 0:
        raise _refused("max_request_batch must be set if it's JetStream limits are set")


def _settled_wait(wanted: ConsumerConfig) -> int:
    """Return how long an acknowledgement may take, before times of backoff count."""
    is_due = not wanted.ack_wait and wanted.ack_policy in {"explicit", "all"}
    return _ACK_WAIT_NS if is_due else wanted.ack_wait
