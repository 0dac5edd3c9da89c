"""A consumer's configuration as the engine has it: what decides on deliveries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework_jetstream.api.times import ns_from_text

if TYPE_CHECKING:
    from framework_jetstream.api.records import ConsumerConfig

BURST_BYTES: Final = 1024 * 1024
"""What a limited rate lets pass at once, where the stream does not limit its messages."""

_PERCENT_MAX: Final = 100

_ACK: Final = {"none": 0, "all": 1, "explicit": 2, "flow_control": 3}
_DELIVER: Final = {
    "all": 0,
    "last": 1,
    "new": 2,
    "by_start_sequence": 3,
    "by_start_time": 4,
    "last_per_subject": 5,
}
_PRIORITY: Final = {"": 0, "none": 0, "overflow": 1, "pinned_client": 2, "prioritized": 3}


def terms_of(config: ConsumerConfig, burst_bytes: int = BURST_BYTES) -> dict[str, int]:
    """Return what of a configuration decides on deliveries, as `ConsumerTerms` names it."""
    start = config.opt_start_seq
    if config.opt_start_time is not None:
        start = ns_from_text(config.opt_start_time)
    return {
        "ack_policy": _ACK[config.ack_policy],
        "deliver_policy": _DELIVER[config.deliver_policy],
        "priority_policy": _PRIORITY[config.priority_policy],
        "start": start,
        "ack_wait_ns": config.ack_wait,
        "max_deliver": config.max_deliver,
        "max_ack_pending": config.max_ack_pending,
        "max_waiting": config.max_waiting,
        "max_batch": config.max_batch,
        "max_expires_ns": config.max_expires,
        "max_bytes": config.max_bytes,
        "heartbeat_ns": config.idle_heartbeat,
        "inactive_ns": config.inactive_threshold,
        "rate_bytes": config.rate_limit_bps // 8,
        "rate_burst_bytes": burst_bytes,
        "pause_until_ns": ns_from_text(config.pause_until) if config.pause_until else 0,
        "pinned_ns": config.priority_timeout,
        "sample_percent": min(int(config.sample_freq.removesuffix("%") or 0), _PERCENT_MAX),
        "headers_only": config.headers_only,
        "flow_control": config.flow_control,
        "replays": config.replay_policy == "original",
    }


def filters_of(config: ConsumerConfig) -> list[str]:
    """Return the subjects that a consumer wants; none: all."""
    return [config.filter_subject] if config.filter_subject else list(config.filter_subjects or ())
