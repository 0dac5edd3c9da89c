"""What a consumer's configuration may say: defaults, refusals and changes, in nats-server's words.

Source: nats-server `consumer.go`, `setConsumerConfigDefaults`, `checkConsumerCfg`,
`checkNewConsumerConfig`, `addConsumerWithAssignmentAndMode`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from framework.wire.subject import is_subset, is_valid_subject
from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.api.overlaps import do_overlap
from framework_jetstream.api.times import go_duration, ns_from_text
from framework_jetstream.consumer.terms import filters_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from framework_jetstream.api.records import ConsumerConfig, StreamConfig

NAME_MAX: Final = 255
DESCRIPTION_MAX: Final = 4096
METADATA_MAX: Final = 128 * 1024
ACK_WAIT_NS: Final = 30_000_000_000
MAX_ACK_PENDING: Final = 1000
MAX_WAITING: Final = 512
INACTIVE_NS: Final = 5_000_000_000
HEARTBEAT_MIN_NS: Final = 100_000_000
FLOW_HEARTBEAT_NS: Final = 1_000_000_000
EXPIRES_MIN_NS: Final = 1_000_000
PINNED_NS: Final = 120_000_000_000
_GROUP: Final = re.compile(r"[a-zA-Z0-9/_=-]{1,16}")
_HIDDEN: Final = frozenset({"_nats.level", "_nats.ver", "_nats.req.level"})
_NOT_NEGATIVE: Final = (
    "max_waiting",
    "max_batch",
    "max_expires",
    "max_bytes",
    "idle_heartbeat",
    "inactive_threshold",
    "priority_timeout",
)


def invalid(problem: str) -> Exception:
    """Return what to raise for a configuration that makes no sense."""
    return failure(ErrCode.STREAM_INVALID_CONFIG, err=problem)


def settled(wanted: ConsumerConfig, stream: StreamConfig) -> ConsumerConfig:
    """Return a configuration with its defaults.

    Raises:
        ApiFailure: It makes no sense.
    """
    config = msgspec.structs.replace(wanted)
    _settle(config, stream)
    _check_name(config)
    _check_acks(config)
    _check_mode(config, stream)
    _check_limits(config, stream)
    _check_filters(config)
    _check_start(config)
    _check_sampling(config)
    if config.flow_control and not config.idle_heartbeat:
        raise failure(ErrCode.CONSUMER_FLOW_CONTROL_NEEDS_HEARTBEATS)
    _check_metadata(config)
    _check_priorities(config)
    settle_metadata(config)
    return config


def settle_ending(config: ConsumerConfig) -> None:
    """Let a consumer that is not durable go when nobody uses it."""
    if not config.durable_name and not config.inactive_threshold:
        config.inactive_threshold = INACTIVE_NS


# -- defaults ------------------------------------------------------------------------------------


def _settle(config: ConsumerConfig, stream: StreamConfig) -> None:
    config.max_deliver = config.max_deliver if config.max_deliver > 0 else -1
    config.max_ack_pending = max(config.max_ack_pending, -1)
    for name in _NOT_NEGATIVE:
        setattr(config, name, max(getattr(config, name), 0))
    if not config.deliver_subject:
        config.max_waiting = config.max_waiting or MAX_WAITING
    if not config.ack_wait and config.ack_policy in {"explicit", "all"}:
        config.ack_wait = ACK_WAIT_NS
    if config.backoff:
        config.ack_wait = config.backoff[0]
    limits = stream.consumer_limits
    config.max_ack_pending = config.max_ack_pending or limits.max_ack_pending
    config.inactive_threshold = config.inactive_threshold or limits.inactive_threshold
    if not config.max_ack_pending and config.ack_policy != "none":
        config.max_ack_pending = MAX_ACK_PENDING
    if config.priority_policy == "none":
        config.priority_policy = ""
    if config.priority_policy == "pinned_client":
        config.priority_timeout = config.priority_timeout or PINNED_NS
    if config.ack_policy == "flow_control":
        config.flow_control = True
        config.idle_heartbeat = FLOW_HEARTBEAT_NS
    if config.pause_until is not None:
        _time_of(config.pause_until)


def _time_of(text: str) -> int:
    try:
        return ns_from_text(text)
    except ValueError as error:
        raise failure(ErrCode.INVALID_JSON, err=error) from None


def settle_metadata(config: ConsumerConfig) -> None:
    """Note the level of the API that a configuration needs.

    Source: nats-server `jetstream_versioning.go`, `setStaticConsumerMetadata`.
    """
    level = 0
    is_paused = config.pause_until is not None and _time_of(config.pause_until)
    if is_paused or config.priority_policy or config.priority_groups:
        level = 1
    if config.ack_policy == "flow_control":
        level = 4
    shown = {name: it for name, it in (config.metadata or {}).items() if name not in _HIDDEN}
    config.metadata = {**shown, "_nats.req.level": str(level)}


# -- refusals ------------------------------------------------------------------------------------


def _check_name(config: ConsumerConfig) -> None:
    for name, words in ((config.name, "name"), (config.durable_name, "durable name")):
        if any(char <= " " or char in ".*>\\/\x7f" for char in name):
            raise invalid(f"consumer {words} can not contain '.', '*', '>', '\\', '/'")
        if len(name.encode()) > NAME_MAX:
            raise failure(ErrCode.CONSUMER_NAME_TOO_LONG, max=NAME_MAX)


def check_replicas(config: ConsumerConfig, stream: StreamConfig, *, is_clustered: bool) -> None:
    """Raise ApiFailure for a number of replicas that a consumer can't have.

    Args:
        config: Of the consumer.
        stream: Of its stream.
        is_clustered: Servers share streams.
    """
    replicas = config.num_replicas
    if replicas > 1 and not is_clustered:
        raise failure(ErrCode.REPLICAS_NOT_SUPPORTED)
    if replicas > stream.num_replicas:
        raise failure(ErrCode.CONSUMER_REPLICAS_EXCEEDS_STREAM)
    if replicas < 0:
        raise failure(ErrCode.REPLICAS_CANNOT_BE_NEGATIVE)
    if stream.retention != "limits" and replicas not in {0, stream.num_replicas}:
        raise failure(ErrCode.CONSUMER_REPLICAS_SHOULD_MATCH_STREAM)


def replicas_of(config: ConsumerConfig, stream: StreamConfig) -> int:
    """Return how many servers are to have a consumer; 0: as many as have its stream.

    Source: nats-server `consumer.go`, `replicas`.
    """
    is_old_ephemeral = not config.durable_name and not config.num_replicas
    return 1 if is_old_ephemeral and stream.retention == "limits" else config.num_replicas


def _check_acks(config: ConsumerConfig) -> None:
    if any(wait < 0 for wait in config.backoff or ()):
        raise failure(ErrCode.CONSUMER_BACKOFF_NEGATIVE)
    if config.ack_wait < 0:
        raise failure(ErrCode.CONSUMER_ACK_WAIT_NEGATIVE)
    if config.ack_policy == "flow_control":
        if not config.deliver_subject:
            raise failure(ErrCode.FLOW_CONTROL_ACK_REQUIRES_PUSH)
        if config.max_ack_pending <= 0:
            raise failure(ErrCode.FLOW_CONTROL_ACK_REQUIRES_MAX_ACK_PENDING)
        if config.ack_wait or config.backoff:
            raise failure(ErrCode.FLOW_CONTROL_ACK_REQUIRES_NO_ACK_WAIT)
        if config.max_deliver > 0:
            raise failure(ErrCode.FLOW_CONTROL_ACK_REQUIRES_NO_MAX_DELIVER)
    if 0 < config.max_deliver < len(config.backoff or ()):
        raise failure(ErrCode.CONSUMER_MAX_DELIVER_BACKOFF)
    if len(config.description.encode()) > DESCRIPTION_MAX:
        raise failure(ErrCode.CONSUMER_DESCRIPTION_TOO_LONG, max=DESCRIPTION_MAX)


def _check_mode(config: ConsumerConfig, stream: StreamConfig) -> None:
    if config.deliver_subject:
        _check_push(config, stream)
        return
    if config.ack_policy == "none" and stream.retention == "workqueue":
        raise failure(ErrCode.CONSUMER_PULL_REQUIRES_ACK)
    if config.rate_limit_bps:
        raise failure(ErrCode.CONSUMER_PULL_WITH_RATE_LIMIT)
    if config.idle_heartbeat:
        raise failure(ErrCode.CONSUMER_HEARTBEAT_REQUIRES_PUSH)
    if config.flow_control:
        raise failure(ErrCode.CONSUMER_FLOW_CONTROL_REQUIRES_PUSH)
    if config.max_expires and config.max_expires < EXPIRES_MIN_NS:
        raise failure(ErrCode.CONSUMER_MAX_REQUEST_EXPIRES_TOO_SMALL)


def _check_push(config: ConsumerConfig, stream: StreamConfig) -> None:
    if {"*", ">"} & set(config.deliver_subject.split(".")):
        raise failure(ErrCode.CONSUMER_DELIVER_TO_WILDCARDS)
    if not is_valid_subject(config.deliver_subject):
        raise failure(ErrCode.CONSUMER_INVALID_DELIVER_SUBJECT)
    if any(do_overlap(config.deliver_subject, own) for own in stream.subjects or ()):
        raise failure(ErrCode.CONSUMER_DELIVER_CYCLE)
    if config.max_waiting:
        raise failure(ErrCode.CONSUMER_PUSH_MAX_WAITING)
    if config.max_ack_pending > 0 and config.ack_policy == "none":
        raise failure(ErrCode.CONSUMER_MAX_PENDING_ACK_POLICY_REQUIRED)
    if config.idle_heartbeat and config.idle_heartbeat < HEARTBEAT_MIN_NS:
        raise failure(ErrCode.CONSUMER_SMALL_HEARTBEAT)


def _check_limits(config: ConsumerConfig, stream: StreamConfig) -> None:
    limits = stream.consumer_limits
    if 0 < limits.max_ack_pending < config.max_ack_pending:
        raise failure(ErrCode.CONSUMER_MAX_ACK_PENDING_EXCESS, limit=limits.max_ack_pending)
    if 0 < limits.inactive_threshold < config.inactive_threshold:
        raise failure(
            ErrCode.CONSUMER_INACTIVE_THRESHOLD_EXCESS,
            limit=go_duration(limits.inactive_threshold),
        )
    if config.direct and not config.deliver_subject:
        raise failure(ErrCode.CONSUMER_DIRECT_REQUIRES_PUSH)
    if config.direct and config.durable_name:
        raise failure(ErrCode.CONSUMER_DIRECT_REQUIRES_EPHEMERAL)


def _check_filters(config: ConsumerConfig) -> None:
    filters = config.filter_subjects or []
    if config.filter_subject and filters:
        raise failure(ErrCode.CONSUMER_DUPLICATE_FILTER_SUBJECTS)
    if any(not subject for subject in filters):
        raise failure(ErrCode.CONSUMER_EMPTY_FILTER)
    if not all(is_valid_subject(subject) for subject in filters_of(config)):
        raise invalid("invalid subject")
    for at, subject in enumerate(filters):
        others = filters[:at] + filters[at + 1 :]
        if any(is_subset(subject, other) for other in others):
            raise failure(ErrCode.CONSUMER_OVERLAPPING_SUBJECT_FILTERS)


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
    if policy == "last_per_subject" and not filters_of(config):
        raise failure(ErrCode.CONSUMER_INVALID_POLICY, err=f"{about} filter subject is not set")
    if has_time:
        _time_of(str(config.opt_start_time))


def _check_sampling(config: ConsumerConfig) -> None:
    text = config.sample_freq.removesuffix("%")
    if not config.sample_freq:
        return
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        problem = f'strconv.Atoi: parsing "{text}": invalid syntax'
        raise failure(ErrCode.CONSUMER_INVALID_SAMPLING, err=problem)
    if int(text) < 0:
        raise failure(ErrCode.CONSUMER_INVALID_SAMPLING, err="<nil>")


def _check_metadata(config: ConsumerConfig) -> None:
    if config.durable_name and config.name and config.name != config.durable_name:
        raise failure(ErrCode.CONSUMER_DURABLE_AND_NAME_MISMATCH)
    pairs = (config.metadata or {}).items()
    if sum(len(name.encode()) + len(value.encode()) for name, value in pairs) > METADATA_MAX:
        raise failure(ErrCode.CONSUMER_METADATA_LENGTH, limit=f"{METADATA_MAX // 1024}KB")


def _check_priorities(config: ConsumerConfig) -> None:
    groups = config.priority_groups or []
    if not config.priority_policy:
        if groups:
            raise failure(ErrCode.CONSUMER_GROUP_WITHOUT_POLICY)
        if config.priority_timeout:
            raise failure(ErrCode.CONSUMER_PINNED_TIME_WITHOUT_POLICY)
        return
    if config.deliver_subject:
        raise failure(ErrCode.CONSUMER_PUSH_WITH_GROUP)
    if not groups:
        raise failure(ErrCode.CONSUMER_POLICY_WITHOUT_GROUP)
    for group in groups:
        check_group(group)


def check_group(group: str) -> None:
    """Raise ApiFailure for a name that no priority group may have."""
    if not group:
        raise failure(ErrCode.CONSUMER_EMPTY_GROUP_NAME)
    if not _GROUP.fullmatch(group):
        raise failure(ErrCode.CONSUMER_INVALID_GROUP_NAME)


# -- beside others -------------------------------------------------------------------------------


def check_partition(
    config: ConsumerConfig, stream: StreamConfig, others: Iterable[ConsumerConfig]
) -> None:
    """Raise ApiFailure where consumers of a work queue would want the same messages.

    Args:
        config: Of a consumer.
        stream: Of its stream.
        others: Of the other consumers.

    Source: nats-server `stream.go`, `partitionUnique`.
    """
    if stream.retention != "workqueue":
        return
    for other in others:
        if other.direct or other.sourcing:
            continue
        theirs = filters_of(other)
        mine = filters_of(config)
        if mine and (not theirs or any(do_overlap(a, b) for a in mine for b in theirs)):
            raise failure(ErrCode.WORK_QUEUE_CONSUMER_NOT_UNIQUE)


def check_new(
    config: ConsumerConfig, stream: StreamConfig, others: Iterable[ConsumerConfig], most: int
) -> None:
    """Raise ApiFailure where a stream can't have a new consumer beside its others.

    Args:
        config: Of the new one.
        stream: Of the stream.
        others: Of its consumers.
        most: How many it may have; below 1: any number.
    """
    others = [it for it in others if not it.direct and not it.sourcing]
    if config.direct or config.sourcing:
        return
    if 0 < most <= len(others):
        raise failure(ErrCode.MAXIMUM_CONSUMERS_REACHED)
    if stream.retention != "workqueue":
        return
    if config.ack_policy not in {"explicit", "flow_control"}:
        raise failure(ErrCode.WORK_QUEUE_REQUIRES_EXPLICIT_ACK)
    if config.deliver_policy != "all":
        raise failure(ErrCode.WORK_QUEUE_CONSUMER_NOT_DELIVER_ALL)
    if others and not filters_of(config):
        raise failure(ErrCode.WORK_QUEUE_MULTIPLE_UNFILTERED)
    check_partition(config, stream, others)


# -- changes -------------------------------------------------------------------------------------

_FIXED: Final = {
    "deliver_policy": "deliver policy",
    "mem_storage": "storage type",
    "direct": "direct",
    "sourcing": "sourcing",
    "opt_start_seq": "start sequence",
    "opt_start_time": "start time",
    "ack_policy": "ack policy",
    "replay_policy": "replay policy",
    "idle_heartbeat": "heart beats",
    "flow_control": "flow control",
}


def check_update(old: ConsumerConfig, new: ConsumerConfig, *, has_interest: bool) -> None:
    """Raise ApiFailure for a change that a consumer can't follow.

    Args:
        old: What it has.
        new: What it is to have.
        has_interest: Somebody listens where it pushes.
    """
    for name, words in _FIXED.items():
        if getattr(old, name) != getattr(new, name):
            raise failure(ErrCode.CONSUMER_CREATE, err=f"{words} can not be updated")
    if old.deliver_subject != new.deliver_subject:
        if not old.deliver_subject:
            problem = "can not update pull consumer to push based"
            raise failure(ErrCode.CONSUMER_CREATE, err=problem)
        if not new.deliver_subject:
            problem = "can not update push consumer to pull based"
            raise failure(ErrCode.CONSUMER_CREATE, err=problem)
        if has_interest:
            raise failure(ErrCode.CONSUMER_NAME_EXISTS)
    if old.max_waiting != new.max_waiting:
        raise failure(ErrCode.CONSUMER_CREATE, err="max waiting can not be updated")
