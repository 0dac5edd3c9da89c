"""What a stream's configuration may say: defaults, refusals and changes, in nats-server's words.

Source: nats-server `stream.go`, `checkStreamCfg`, `configUpdateCheck`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from framework.sublist.transform import BadTransform, parse_transform
from framework.wire.subject import is_valid_subject
from framework.wire.version import JETSTREAM_API_LEVEL
from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.api.overlaps import do_overlap
from framework_jetstream.api.records import Placement, StreamConfig
from framework_jetstream.api.subject_tree import SubjectTree
from framework_jetstream.sourcing.rules import check_change, check_sourcing
from framework_jetstream.storage.records import METADATA, kind_of, number_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from framework.sublist.transform import Program
    from framework_jetstream.api.records import RePublish, SubjectTransform

NAME_MAX: Final = 255
DESCRIPTION_MAX: Final = 4096
METADATA_MAX: Final = 128 * 1024
REPLICAS_MAX: Final = 5
AGE_MIN_NS: Final = 100_000_000
WINDOW_NS: Final = 120_000_000_000
WINDOW_MIN_NS: Final = 100_000_000
SECOND_NS: Final = 1_000_000_000
_MSG_SIZE_MAX: Final = 2**31 - 1
_RETENTION: Final = {"limits": 0, "interest": 1, "workqueue": 2}
READS: Final = "framework.reads"
"""The name in a stream's metadata whose value says which reads are answered."""
LINEARIZABLE: Final = "linearizable"
"""Only those that see all that was acknowledged before; else any replica that hears its leader
answers direct gets."""
_API: Final = ("$JS.>", "$JSC.>", "$NRG.>")


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
        ApiFailure: It makes no sense.
    """
    check_name(wanted.name)
    config = StreamConfig(**{
        name: getattr(wanted, name) for name in StreamConfig.__struct_fields__
    })
    if len(config.description.encode()) > DESCRIPTION_MAX:
        raise invalid(f"stream description is too long, maximum allowed is {DESCRIPTION_MAX}")
    _settle_numbers(config)
    _check_options(config)
    _settle_persistence(config)
    _settle_metadata(config)
    check_sourcing(config)
    _settle_subjects(config)
    _settle_transforms(config)
    if config.placement == Placement():
        config.placement = None
    if config.placement is not None and config.placement.preferred:
        raise invalid("preferred server not permitted in placement")
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
    if metadata.get(READS, LINEARIZABLE) != LINEARIZABLE:
        raise invalid(f"metadata {READS} can only be {LINEARIZABLE}")
    metadata["_nats.req.level"] = str(_level(config))
    config.metadata = metadata


def _level(config: StreamConfig) -> int:
    """Return the level of the API that a configuration needs.

    Source: nats-server `jetstream_versioning.go`, `setStaticStreamMetadata`.
    """
    if config.allow_batched:
        return 4
    if config.allow_msg_counter or config.allow_atomic or config.allow_msg_schedules:
        return 2
    if config.persist_mode == "async":
        return 2
    return 1 if config.allow_msg_ttl or config.subject_delete_marker_ttl > 0 else 0


def _settle_numbers(config: StreamConfig) -> None:
    if config.num_replicas < 0:
        raise failure(ErrCode.REPLICAS_CANNOT_BE_NEGATIVE)
    if config.num_replicas > REPLICAS_MAX:
        raise invalid(f"maximum replicas is {REPLICAS_MAX}")
    config.num_replicas = config.num_replicas or 1
    _settle_limits(config)
    _settle_times(config)


def _settle_limits(config: StreamConfig) -> None:
    for name in ("max_consumers", "max_msgs", "max_bytes", "max_msgs_per_subject", "max_msg_size"):
        value = getattr(config, name)
        setattr(config, name, value if value > 0 else -1)
    if config.max_msg_size > _MSG_SIZE_MAX:
        raise failure(
            ErrCode.INVALID_JSON,
            err=f"json: cannot unmarshal number {config.max_msg_size} into Go struct field"
            " StreamConfigRequest.StreamConfig.max_msg_size of type int32",
        )


def _settle_times(config: StreamConfig) -> None:
    if config.max_age < 0:
        raise invalid("max age can not be negative")
    if config.max_age and config.max_age < AGE_MIN_NS:
        raise invalid("max age needs to be >= 100ms")
    if not config.duplicate_window and config.mirror is None and not config.sources:
        is_short = 0 < config.max_age < WINDOW_NS
        config.duplicate_window = config.max_age if is_short else WINDOW_NS
    if config.duplicate_window < 0:
        raise invalid("duplicates window can not be negative")
    if config.max_age and config.duplicate_window > config.max_age:
        raise invalid("duplicates window can not be larger then max age")
    if 0 < config.duplicate_window < WINDOW_MIN_NS:
        raise invalid("duplicates window needs to be >= 100ms")


def _check_options(config: StreamConfig) -> None:
    if config.deny_purge and config.allow_rollup_hdrs:
        raise invalid("roll-ups require the purge permission")
    if config.allow_msg_counter:
        _check_counter(config)
    if config.discard_new_per_subject:
        if config.discard != "new":
            raise invalid("discard new per subject requires discard new policy to be set")
        if config.max_msgs_per_subject <= 0:
            raise invalid("discard new per subject requires max msgs per subject > 0")
    _settle_markers(config)
    if config.allow_msg_schedules:
        if config.discard == "new":
            raise invalid("message scheduling cannot use discard new")
        if not config.allow_rollup_hdrs:
            config.allow_rollup_hdrs, config.deny_purge = True, False


def _settle_persistence(config: StreamConfig) -> None:
    """Refuse what can't be acknowledged early; what can is synced before all the same."""
    if config.persist_mode != "async":
        config.persist_mode = ""
    elif config.storage != "file":
        raise invalid("async persist mode is only supported on file storage")
    elif config.num_replicas > 1:
        raise invalid("async persist mode is not supported on replicated streams")
    elif config.allow_atomic:
        raise invalid("async persist mode is not supported with atomic batch publish")


def _check_counter(config: StreamConfig) -> None:
    if config.discard == "new":
        raise invalid("counter stream cannot use discard new")
    if config.allow_msg_ttl:
        raise invalid("counter stream cannot use message TTLs")
    if config.allow_msg_schedules:
        raise invalid("counter stream cannot use message schedules")
    if config.retention != "limits":
        raise invalid("counter stream can only use limits retention")


def _settle_markers(config: StreamConfig) -> None:
    """Let markers end by themselves, and replace what was before them."""
    if config.subject_delete_marker_ttl < 0:
        raise invalid("subject delete marker TTL must not be negative")
    if not config.subject_delete_marker_ttl:
        return
    if config.subject_delete_marker_ttl < SECOND_NS:
        raise invalid("subject delete marker TTL must be at least 1 second")
    config.allow_msg_ttl = True
    if not config.allow_rollup_hdrs:
        config.allow_rollup_hdrs, config.deny_purge = True, False


def _settle_subjects(config: StreamConfig) -> None:
    if not config.subjects and config.mirror is None and not config.sources:
        config.subjects = [config.name]
    tree, seen = SubjectTree(), dict[str, int]()
    for subject in config.subjects or ():
        if not is_valid_subject(subject):
            raise invalid("invalid subject")
        if subject in seen:
            raise invalid("duplicate subjects detected")
        if not config.no_ack:
            if subject == ">":
                raise invalid("capturing all subjects requires no-ack to be true")
            if any(do_overlap(subject, api) for api in _API) and not subject.startswith(
                "$JS.EVENT"
            ):
                raise invalid("subjects that overlap with jetstream api require no-ack to be true")
        if others := set(tree.overlapping(subject)):
            first = min(others, key=seen.__getitem__)
            raise invalid(f'subject "{first}" overlaps with "{subject}"')
        tree.add(subject, subject)
        seen[subject] = len(seen)


def _settle_transforms(config: StreamConfig) -> None:
    """Check what becomes of subjects, and where messages are published again."""
    transform, republish = config.subject_transform, config.republish
    if transform is not None:
        if transform.src and not is_valid_subject(transform.src):
            problem = f"invalid subject {transform.src}"
            raise failure(ErrCode.STREAM_TRANSFORM_INVALID_SOURCE, err=problem)
        if transform.dest:
            try:
                parse_transform(transform.src, transform.dest)
            except BadTransform as problem:
                code = ErrCode.STREAM_TRANSFORM_INVALID_DESTINATION
                raise failure(code, err=_words_of(problem)) from None
    if republish is None:
        return
    republish.src = republish.src or ">"
    is_all = republish.src == republish.dest == ">"
    if is_all and transform is not None and config.subjects == [transform.src]:
        republish.src = republish.dest = transform.dest
    if any(do_overlap(republish.dest, subject) for subject in config.subjects or ()):
        raise invalid("stream configuration for republish destination forms a cycle")
    try:
        parse_transform(republish.src, republish.dest)
    except BadTransform:
        raise invalid(
            "stream configuration for republish with transform"
            f" from '{republish.src}' to '{republish.dest}' not valid"
        ) from None


def _words_of(problem: BadTransform) -> str:
    """Return nats-server's words for a bad transform, as far as they tell kinds apart."""
    return "invalid subject" if "must end" in str(problem) else str(problem)


def check_create(config: StreamConfig, *, is_clustered: bool = False) -> None:
    """Refuse what a new stream can't be.

    Args:
        config: Its configuration.
        is_clustered: Several servers may have it.
    """
    if config.sealed:
        raise invalid("stream configuration for create can not be sealed")
    if config.mirror_direct and config.mirror is None:
        raise invalid("stream has no mirror but does have mirror direct")
    if config.num_replicas > 1 and not is_clustered:
        raise failure(ErrCode.REPLICAS_NOT_SUPPORTED)


def updated(old: StreamConfig, wanted: StreamConfig, *, is_clustered: bool = False) -> StreamConfig:
    """Return the configuration that a stream gets.

    Args:
        old: That it has.
        wanted: As it came.
        is_clustered: Several servers may have it.

    Raises:
        ApiFailure: The change is not allowed.
    """
    new = settled(wanted)
    if new.num_replicas > 1 and not is_clustered:
        raise failure(ErrCode.REPLICAS_NOT_SUPPORTED)
    for is_broken, words in _broken(old, new):
        if is_broken:
            raise invalid(words)
    check_change(old, new)
    if new.sealed:
        new.max_age = 0
        new.discard = "new"
        new.deny_delete = new.deny_purge = True
        new.allow_rollup_hdrs = False
    new.first_seq = old.first_seq
    return new


def _broken(old: StreamConfig, new: StreamConfig) -> Iterator[tuple[bool, str]]:
    """Yield whether a change is not allowed, with the words for it, in nats-server's order."""
    update = "stream configuration update can not"
    yield new.storage != old.storage, f"{update} change storage type"
    to_queue = new.retention != old.retention and "workqueue" in {new.retention, old.retention}
    yield to_queue, f"{update} change retention policy to/from workqueue"
    yield old.sealed and not new.sealed, f"{update} unseal a sealed stream"
    yield old.deny_delete and not new.deny_delete, f"{update} cancel deny message deletes"
    yield old.deny_purge and not new.deny_purge, f"{update} cancel deny purge"
    yield old.allow_msg_ttl and not new.allow_msg_ttl, "message TTL status can not be disabled"
    counters = old.allow_msg_counter != new.allow_msg_counter
    yield counters, f"{update} change message counter setting"
    schedules = old.allow_msg_schedules and not new.allow_msg_schedules
    yield schedules, "message schedules can not be disabled"
    yield old.persist_mode != new.persist_mode, f"{update} change persist mode"
    is_moved = kind_of(old.metadata) != kind_of(new.metadata)
    yield is_moved, f"{update} change metadata {METADATA}, the storage kind"


def check_storage(config: StreamConfig, kinds: Mapping[str, object]) -> None:
    """Refuse a new stream whose storage kind is not there, or can't keep it.

    Args:
        config: Is settled.
        kinds: Of this server, by name.
    """
    kind = kind_of(config.metadata)
    if not kind:
        return
    if kind not in kinds:
        raise invalid(f"there is no storage kind {kind}: {', '.join(sorted(kinds)) or 'none'}")
    if config.storage != "file":
        raise invalid(f"storage kind {kind} keeps streams of storage file only")
    if config.num_replicas > 1:
        raise invalid(f"storage kind {kind} keeps streams with one replica only")


def limits_of(config: StreamConfig) -> dict[str, Any]:
    """Return what of a configuration decides on messages, for the engine."""
    return {
        "max_msgs": config.max_msgs,
        "max_bytes": config.max_bytes,
        "max_age_ns": config.max_age,
        "max_msgs_per_subject": config.max_msgs_per_subject,
        "max_msg_size": config.max_msg_size,
        "duplicate_window_ns": config.duplicate_window,
        "retention": _RETENTION[config.retention],
        "discard_new": config.discard == "new",
        "discard_new_per_subject": config.discard_new_per_subject,
        "sealed": config.sealed,
        "allow_rollup": config.allow_rollup_hdrs,
        "no_ack": config.no_ack,
        "allow_direct": reads_of(config),
        "allow_ttl": config.allow_msg_ttl,
        "is_compressed": config.compression == "s2",
        "storage_kind": number_of(kind_of(config.metadata)),
        "allow_counter": config.allow_msg_counter,
        "allow_atomic": config.allow_atomic,
        "allow_batched": config.allow_batched,
        "allow_schedules": config.allow_msg_schedules,
        "subjects": _subjects_asked_for(config),
        "api_level": JETSTREAM_API_LEVEL,
        "marker_ttl_ns": config.subject_delete_marker_ttl,
        "transform": _program(config.subject_transform),
        "republish": _program(config.republish),
        "republish_headers_only": config.republish is not None and config.republish.headers_only,
    }


def reads_of(config: StreamConfig) -> int:
    """Return who answers direct gets, a number of `Reads` of the stream machine."""
    if not config.allow_direct:
        return 0
    is_strict = (config.metadata or {}).get(READS) == LINEARIZABLE
    return 2 if is_strict else 1


def _subjects_asked_for(config: StreamConfig) -> bytes:
    """Return the subjects of a stream, one a line, where schedules have to know them."""
    return "\n".join(config.subjects or ()).encode() if config.allow_msg_schedules else b""


def _program(change: SubjectTransform | RePublish | None) -> Program | None:
    return parse_transform(change.src, change.dest) if change is not None and change.dest else None
