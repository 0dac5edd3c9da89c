"""What a stream's configuration may say: defaults, refusals and changes, in nats-server's words.

Source: nats-server `stream.go`, `checkStreamCfg`, `configUpdateCheck`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.wire.subject import is_subset, is_valid_subject
from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.api.overlaps import do_overlap
from framework_jetstream.api.records import ConsumerLimits, StreamConfig

if TYPE_CHECKING:
    from collections.abc import Iterable

NAME_MAX: Final = 255
DESCRIPTION_MAX: Final = 4096
METADATA_MAX: Final = 128 * 1024
REPLICAS_MAX: Final = 5
AGE_MIN_NS: Final = 100_000_000
WINDOW_NS: Final = 120_000_000_000
WINDOW_MIN_NS: Final = 100_000_000
_MSG_SIZE_MAX: Final = 2**31 - 1
_API: Final = ("$JS.>", "$JSC.>", "$NRG.>")
_NOT_YET: Final = (
    "mirror",
    "sources",
    "subject_transform",
    "republish",
    "subject_delete_marker_ttl",
    "allow_msg_counter",
    "allow_atomic",
    "allow_msg_schedules",
    "allow_batched",
)
"""Fields that ask for what this version does not have."""


def check_name(name: str) -> None:
    """Raise ApiFailure for a name that no stream may have."""
    if not name or any(char <= " " or char in ".*>\x7f" for char in name):
        raise invalid("stream name is required and can not contain '.', '*', '>', '\\', '/'")
    if len(name.encode()) > NAME_MAX:
        raise invalid(f"stream name is too long, maximum allowed is {NAME_MAX}")
    if "/" in name or "\\" in name:
        raise failure(ErrCode.STREAM_NAME_CONTAINS_PATH_SEPARATORS)


def settled(wanted: StreamConfig) -> StreamConfig:
    """Return a configuration with its defaults.

    Raises:
        ApiFailure: It makes no sense, or asks for what is not there yet.
    """
    check_name(wanted.name)
    config = StreamConfig(**{
        name: getattr(wanted, name) for name in StreamConfig.__struct_fields__
    })
    if len(config.description.encode()) > DESCRIPTION_MAX:
        raise invalid(f"stream description is too long, maximum allowed is {DESCRIPTION_MAX}")
    _settle_metadata(config)
    _settle_numbers(config)
    _check_options(config)
    _settle_subjects(config)
    return config


def invalid(problem: str) -> Exception:
    """Return what to raise for a configuration that makes no sense."""
    return failure(ErrCode.STREAM_INVALID_CONFIG, err=problem)


def _settle_metadata(config: StreamConfig) -> None:
    metadata = {
        name: value
        for name, value in (config.metadata or {}).items()
        if name not in {"_nats.level", "_nats.ver"}
    }
    size = sum(len(name.encode()) + len(value.encode()) for name, value in metadata.items())
    if size > METADATA_MAX:
        raise invalid(f"stream metadata exceeds maximum size of {METADATA_MAX // 1024}KB")
    metadata["_nats.req.level"] = "1" if config.allow_msg_ttl else "0"
    config.metadata = metadata


def _settle_numbers(config: StreamConfig) -> None:
    if config.num_replicas < 0:
        raise failure(ErrCode.REPLICAS_CANNOT_BE_NEGATIVE)
    if config.num_replicas > REPLICAS_MAX:
        raise invalid(f"maximum replicas is {REPLICAS_MAX}")
    config.num_replicas = config.num_replicas or 1
    for name in ("max_consumers", "max_msgs", "max_bytes", "max_msgs_per_subject", "max_msg_size"):
        value = getattr(config, name)
        setattr(config, name, value if value > 0 else -1)
    if config.max_msg_size > _MSG_SIZE_MAX:
        raise failure(
            ErrCode.INVALID_JSON,
            err=f"json: cannot unmarshal number {config.max_msg_size} into Go struct field"
            " StreamConfigRequest.StreamConfig.max_msg_size of type int32",
        )
    if config.max_age and config.max_age < AGE_MIN_NS:
        raise invalid("max age needs to be >= 100ms")
    if not config.duplicate_window:
        is_short = 0 < config.max_age < WINDOW_NS
        config.duplicate_window = config.max_age if is_short else WINDOW_NS
    if config.duplicate_window < 0:
        raise invalid("duplicates window can not be negative")
    if config.max_age and config.duplicate_window > config.max_age:
        raise invalid("duplicates window can not be larger then max age")
    if config.duplicate_window < WINDOW_MIN_NS:
        raise invalid("duplicates window needs to be >= 100ms")


def _check_options(config: StreamConfig) -> None:
    if config.deny_purge and config.allow_rollup_hdrs:
        raise invalid("roll-ups require the purge permission")
    if config.discard_new_per_subject:
        if config.discard != "new":
            raise invalid("discard new per subject requires discard new policy to be set")
        if config.max_msgs_per_subject <= 0:
            raise invalid("discard new per subject requires max msgs per subject > 0")
    _refuse_missing(config)


def _refuse_missing(config: StreamConfig) -> None:
    """Refuse what this version does not have."""
    for name in _NOT_YET:
        if getattr(config, name):
            raise invalid(f"`{name}` is not available in this version")
    if config.retention != "limits":
        raise invalid(f"retention `{config.retention}` is not available in this version")
    if config.compression != "none":
        raise invalid(f"compression `{config.compression}` is not available in this version")
    if config.consumer_limits != ConsumerLimits():
        raise invalid("`consumer_limits` is not available in this version")
    if config.persist_mode == "async":
        raise invalid("async persist mode is not available in this version")


def _settle_subjects(config: StreamConfig) -> None:
    if not config.subjects:
        config.subjects = [config.name]
    seen: list[str] = []
    for subject in config.subjects:
        if not is_valid_subject(subject):
            raise invalid("invalid subject")
        if not config.no_ack:
            if subject == ">":
                raise invalid("capturing all subjects requires no-ack to be true")
            if any(do_overlap(subject, api) for api in _API) and not subject.startswith(
                "$JS.EVENT"
            ):
                raise invalid("subjects that overlap with jetstream api require no-ack to be true")
        for other in seen:
            if do_overlap(subject, other):
                raise invalid(f'subject "{other}" overlaps with "{subject}"')
        seen.append(subject)


def find_overlap(subjects: Iterable[str], others: Iterable[str]) -> bool:
    """Return whether subjects of two streams overlap."""
    others = tuple(others)
    return any(do_overlap(subject, other) for subject in subjects for other in others)


def check_create(config: StreamConfig) -> None:
    """Refuse what a new stream can't be."""
    if config.sealed:
        raise invalid("stream configuration for create can not be sealed")
    if config.num_replicas > 1:
        raise failure(ErrCode.REPLICAS_NOT_SUPPORTED)


def updated(old: StreamConfig, wanted: StreamConfig) -> StreamConfig:
    """Return the configuration that a stream gets.

    Raises:
        ApiFailure: The change is not allowed.
    """
    new = settled(wanted)
    update = "stream configuration update can not"
    if new.storage != old.storage:
        raise invalid(f"{update} change storage type")
    if new.retention != old.retention:
        raise invalid(f"{update} change retention policy to/from workqueue")
    if old.deny_delete and not new.deny_delete:
        raise invalid(f"{update} cancel deny message deletes")
    if old.deny_purge and not new.deny_purge:
        raise invalid(f"{update} cancel deny purge")
    if old.sealed and not new.sealed:
        raise invalid(f"{update} unseal a sealed stream")
    if new.sealed and not old.sealed:
        new.deny_delete = new.deny_purge = True
        new.allow_rollup_hdrs = False
        new.discard = "new"
        new.max_age = 0
    elif old.sealed:
        new.discard = "new"
    if new.num_replicas > 1:
        raise failure(ErrCode.REPLICAS_NOT_SUPPORTED)
    new.first_seq = old.first_seq
    return new


def limits_of(config: StreamConfig) -> dict[str, int]:
    """Return what of a configuration decides on messages, for the engine."""
    return {
        "max_msgs": config.max_msgs,
        "max_bytes": config.max_bytes,
        "max_age_ns": config.max_age,
        "max_msgs_per_subject": config.max_msgs_per_subject,
        "max_msg_size": config.max_msg_size,
        "duplicate_window_ns": config.duplicate_window,
        "discard_new": config.discard == "new",
        "discard_new_per_subject": config.discard_new_per_subject,
        "sealed": config.sealed,
        "allow_rollup": config.allow_rollup_hdrs,
        "no_ack": config.no_ack,
        "allow_direct": config.allow_direct,
        "allow_ttl": config.allow_msg_ttl,
    }


def holds(config: StreamConfig, subject: str) -> bool:
    """Return whether one of a stream's subjects overlaps with one that is asked for."""
    return any(do_overlap(subject, own) or is_subset(subject, own) for own in config.subjects or ())
