"""What a consumer's configuration may say: defaults, refusals and changes, in nats-server's words.

Source: nats-server `consumer.go`, `setConsumerConfigDefaults`, `checkConsumerCfg`,
`checkNewConsumerConfig`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from framework.wire.subject import is_literal, is_valid_subject
from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.api.overlaps import do_overlap
from framework_jetstream.api.times import ns_from_text

if TYPE_CHECKING:
    from framework_jetstream.api.records import ConsumerConfig, StreamConfig

NAME_MAX: Final = 255
DESCRIPTION_MAX: Final = 4096
ACK_WAIT_NS: Final = 30_000_000_000
MAX_ACK_PENDING: Final = 1000
MAX_WAITING: Final = 512
INACTIVE_NS: Final = 5_000_000_000
HEARTBEAT_MIN_NS: Final = 100_000_000
EXPIRES_MIN_NS: Final = 1_000_000
_ACK: Final = {"none": 0, "all": 1, "explicit": 2}
_DELIVER: Final = {
    "all": 0,
    "last": 1,
    "new": 2,
    "by_start_sequence": 3,
    "by_start_time": 4,
    "last_per_subject": 5,
}
_NOT_YET: Final = ("priority_groups", "priority_timeout", "rate_limit_bps", "sample_freq")


def invalid(problem: str) -> Exception:
    """Return what to raise for a configuration that makes no sense."""
    return failure(ErrCode.STREAM_INVALID_CONFIG, err=problem)


def settled(wanted: ConsumerConfig, stream: StreamConfig) -> ConsumerConfig:
    """Return a configuration with its defaults.

    Raises:
        ApiFailure: It makes no sense, or asks for what is not there yet.
    """
    config = msgspec.structs.replace(wanted)
    if any(char <= " " or char in ".*>\\/\x7f" for char in config.name):
        raise invalid("consumer name can not contain '.', '*', '>', '\\', '/'")
    if len(config.name.encode()) > NAME_MAX:
        raise invalid(f"consumer name is too long, maximum allowed is {NAME_MAX}")
    if len(config.description.encode()) > DESCRIPTION_MAX:
        raise failure(ErrCode.CONSUMER_DESCRIPTION_TOO_LONG, max=DESCRIPTION_MAX)
    _settle_acks(config)
    _settle_metadata(config)
    _check_mode(config, stream)
    _check_start(config)
    _check_filters(config)
    _check_not_yet(config)
    if not config.durable_name and not config.inactive_threshold:
        config.inactive_threshold = INACTIVE_NS
    return config


def _settle_metadata(config: ConsumerConfig) -> None:
    hidden = {"_nats.level", "_nats.ver"}
    metadata = {name: it for name, it in (config.metadata or {}).items() if name not in hidden}
    config.metadata = {**metadata, "_nats.req.level": "0"}
    if config.pause_until is not None and not ns_from_text(config.pause_until):
        config.pause_until = None


def _settle_acks(config: ConsumerConfig) -> None:
    if config.ack_wait < 0:
        raise failure(ErrCode.CONSUMER_ACK_WAIT_NEGATIVE)
    if any(wait < 0 for wait in config.backoff or ()):
        raise failure(ErrCode.CONSUMER_BACKOFF_NEGATIVE)
    config.max_deliver = config.max_deliver or -1
    if config.max_deliver < 0:
        config.max_deliver = -1
    elif config.backoff and config.max_deliver < len(config.backoff):
        raise failure(ErrCode.CONSUMER_MAX_DELIVER_BACKOFF)
    if config.ack_policy != "none":
        config.ack_wait = config.backoff[0] if config.backoff else config.ack_wait or ACK_WAIT_NS
        config.max_ack_pending = config.max_ack_pending or MAX_ACK_PENDING
    config.max_ack_pending = max(config.max_ack_pending, -1)
    config.max_batch = max(config.max_batch, 0)
    config.max_bytes = max(config.max_bytes, 0)


def _check_mode(config: ConsumerConfig, stream: StreamConfig) -> None:
    if config.num_replicas > 1:
        raise failure(ErrCode.REPLICAS_NOT_SUPPORTED)
    if config.deliver_subject:
        _check_push(config, stream)
        return
    if config.rate_limit_bps:
        raise failure(ErrCode.CONSUMER_PULL_WITH_RATE_LIMIT)
    if config.idle_heartbeat:
        raise failure(ErrCode.CONSUMER_HEARTBEAT_REQUIRES_PUSH)
    if config.flow_control:
        raise failure(ErrCode.CONSUMER_FLOW_CONTROL_REQUIRES_PUSH)
    if config.direct:
        raise failure(ErrCode.CONSUMER_DIRECT_REQUIRES_PUSH)
    if config.max_expires and config.max_expires < EXPIRES_MIN_NS:
        raise failure(ErrCode.CONSUMER_MAX_REQUEST_EXPIRES_TOO_SMALL)
    config.max_waiting = config.max_waiting if config.max_waiting > 0 else MAX_WAITING


def _check_push(config: ConsumerConfig, stream: StreamConfig) -> None:
    if not is_valid_subject(config.deliver_subject):
        raise failure(ErrCode.CONSUMER_INVALID_DELIVER_SUBJECT)
    if not is_literal(config.deliver_subject):
        raise failure(ErrCode.CONSUMER_DELIVER_TO_WILDCARDS)
    if any(do_overlap(config.deliver_subject, own) for own in stream.subjects or ()):
        raise failure(ErrCode.CONSUMER_DELIVER_CYCLE)
    if config.max_waiting:
        raise failure(ErrCode.CONSUMER_PUSH_MAX_WAITING)
    if config.idle_heartbeat and config.idle_heartbeat < HEARTBEAT_MIN_NS:
        raise failure(ErrCode.CONSUMER_SMALL_HEARTBEAT)
    if config.flow_control and not config.idle_heartbeat:
        raise failure(ErrCode.CONSUMER_FLOW_CONTROL_NEEDS_HEARTBEATS)


def _check_start(config: ConsumerConfig) -> None:
    policy = config.deliver_policy
    words = "deliver " + policy.replace("_", " ")
    about = f"consumer delivery policy is {words}, but optional"
    has_seq, has_time = bool(config.opt_start_seq), config.opt_start_time is not None
    if policy == "by_start_sequence" and not has_seq:
        raise failure(ErrCode.CONSUMER_INVALID_POLICY, err=f"{about} start sequence is not set")
    if policy == "by_start_time" and not has_time:
        raise failure(ErrCode.CONSUMER_INVALID_POLICY, err=f"{about} start time is not set")
    if has_seq and policy != "by_start_sequence":
        raise failure(ErrCode.CONSUMER_INVALID_POLICY, err=f"{about} start sequence is also set")
    if has_time and policy != "by_start_time":
        raise failure(ErrCode.CONSUMER_INVALID_POLICY, err=f"{about} start time is also set")
    has_filter = config.filter_subject or config.filter_subjects
    if policy == "last_per_subject" and not has_filter:
        raise failure(ErrCode.CONSUMER_INVALID_POLICY, err=f"{about} filter subject is not set")
    if has_time:
        try:
            ns_from_text(str(config.opt_start_time))
        except ValueError as error:
            raise failure(ErrCode.INVALID_JSON, err=error) from None


def _check_filters(config: ConsumerConfig) -> None:
    filters = config.filter_subjects or []
    if config.filter_subject and filters:
        raise failure(ErrCode.CONSUMER_DUPLICATE_FILTER_SUBJECTS)
    if any(not subject for subject in filters):
        raise failure(ErrCode.CONSUMER_EMPTY_FILTER)
    if not all(is_valid_subject(subject) for subject in filters_of(config)):
        raise invalid("invalid subject")
    for at, subject in enumerate(filters):
        if any(do_overlap(subject, other) for other in filters[:at]):
            raise failure(ErrCode.CONSUMER_OVERLAPPING_SUBJECT_FILTERS)


def _check_not_yet(config: ConsumerConfig) -> None:
    for name in _NOT_YET:
        if getattr(config, name):
            raise invalid(f"`{name}` is not available in this version")
    if config.replay_policy != "instant" or config.ack_policy == "flow_control":
        raise invalid("replay and flow_control policies are not available in this version")
    if config.pause_until is not None:
        raise invalid("`pause_until` is not available in this version")


def check_update(old: ConsumerConfig, new: ConsumerConfig) -> None:
    """Raise ApiFailure for a change that a consumer can't follow."""
    fixed = {
        "ack_policy": "ack policy",
        "deliver_policy": "deliver policy",
        "opt_start_seq": "start sequence",
        "opt_start_time": "start time",
        "replay_policy": "replay policy",
        "idle_heartbeat": "heart beats",
        "flow_control": "flow control",
        "max_waiting": "max waiting",
        "deliver_subject": "deliver subject",
    }
    for name, words in fixed.items():
        if getattr(old, name) != getattr(new, name):
            raise failure(ErrCode.CONSUMER_CREATE, err=f"{words} can not be updated")


def numbers_of(config: ConsumerConfig, stream_number: int) -> tuple[int, ...]:
    """Return what of a configuration decides on deliveries, as `Verb.OPEN_CONSUMER` has it."""
    start = config.opt_start_seq
    if config.opt_start_time is not None:
        start = ns_from_text(config.opt_start_time)
    return (
        stream_number,
        _ACK[config.ack_policy],
        config.ack_wait,
        config.max_deliver,
        config.max_ack_pending,
        config.max_waiting,
        config.max_batch,
        config.max_expires,
        config.max_bytes,
        config.headers_only,
        _DELIVER[config.deliver_policy],
        start,
        config.idle_heartbeat,
        config.inactive_threshold,
        len(config.backoff or ()),
    )


def filters_of(config: ConsumerConfig) -> list[str]:
    """Return the subjects that a consumer wants; none: all."""
    return [config.filter_subject] if config.filter_subject else list(config.filter_subjects or ())
