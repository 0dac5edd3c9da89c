"""What a stream's configuration may say of its mirror and sources, in nats-server's words.

Source: nats-server `stream.go`, `checkStreamCfg`, `configUpdateCheck`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from framework.sublist.transform import BadTransform, parse_transform
from framework.wire.subject import is_literal, is_subset, is_valid_subject
from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.api.overlaps import do_overlap
from framework_jetstream.sourcing.names import consumer_key, index_name, is_asset_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework_jetstream.api.records import StreamConfig, StreamSource

API_PREFIX: Final = "$JS.API"


class _Codes(NamedTuple):
    """The errors of a mirror, or of a source."""

    filters: ErrCode
    filter: ErrCode
    destination: ErrCode
    overlap: ErrCode
    consumer: ErrCode


_MIRROR: Final = _Codes(
    ErrCode.MIRROR_MULTIPLE_FILTERS,
    ErrCode.MIRROR_INVALID_FILTER,
    ErrCode.MIRROR_INVALID_DESTINATION,
    ErrCode.MIRROR_OVERLAPPING_FILTERS,
    ErrCode.MIRROR_CONSUMER_INVALID,
)
_SOURCE: Final = _Codes(
    ErrCode.SOURCE_MULTIPLE_FILTERS,
    ErrCode.SOURCE_INVALID_FILTER,
    ErrCode.SOURCE_INVALID_DESTINATION,
    ErrCode.SOURCE_OVERLAPPING_FILTERS,
    ErrCode.SOURCE_CONSUMER_INVALID,
)


# -- by themselves -------------------------------------------------------------------------------


def check_sourcing(config: StreamConfig) -> None:
    """Raise ApiFailure where mirror and sources make no sense.

    Args:
        config: Its subjects are those that were asked for.
    """
    if config.mirror is not None:
        _check_mirror(config, config.mirror)
    if config.sources and config.allow_msg_schedules:
        raise failure(ErrCode.SOURCE_WITH_SCHEDULES)
    names: set[str] = set()
    consumers: set[str] = set()
    for source in config.sources or ():
        if not is_asset_name(source.name):
            raise failure(ErrCode.SOURCE_INVALID_NAME)
        if index_name(source) in names:
            raise failure(ErrCode.SOURCE_DUPLICATE)
        names.add(index_name(source))
        _check_filters(source, _SOURCE)
        _check_consumer(source, _SOURCE)
        if source.consumer is not None and consumer_key(source) in consumers:
            raise failure(ErrCode.SOURCE_CONSUMER_DUPLICATE)
        consumers.add(consumer_key(source))
    for external in _externals(config):
        _check_api_prefix(external)


def _check_mirror(config: StreamConfig, mirror: StreamSource) -> None:
    refusals = (
        (config.first_seq, ErrCode.MIRROR_WITH_FIRST_SEQ),
        (config.subjects, ErrCode.MIRROR_WITH_SUBJECTS),
        (config.sources, ErrCode.MIRROR_WITH_SOURCES),
        (config.allow_msg_counter, ErrCode.MIRROR_WITH_COUNTERS),
        (config.allow_atomic, ErrCode.MIRROR_WITH_ATOMIC),
        (config.allow_batched, ErrCode.MIRROR_WITH_BATCHES),
        (config.allow_msg_schedules, ErrCode.MIRROR_WITH_SCHEDULES),
    )
    for is_there, code in refusals:
        if is_there:
            raise failure(code)
    _check_consumer(mirror, _MIRROR)
    if mirror.filter_subject and mirror.subject_transforms:
        raise failure(ErrCode.MIRROR_MULTIPLE_FILTERS)
    if config.subject_delete_marker_ttl > 0:
        problem = "subject delete markers forbidden on mirrors"
        raise failure(ErrCode.STREAM_INVALID_CONFIG, err=problem)
    _check_filters(mirror, _MIRROR)
    if mirror.external is None and not is_asset_name(mirror.name):
        raise failure(ErrCode.MIRROR_INVALID_NAME)


def _check_filters(source: StreamSource, codes: _Codes) -> None:
    transforms = source.subject_transforms or []
    if source.filter_subject and transforms:
        raise failure(codes.filters)
    for it in transforms:
        if it.src and not is_valid_subject(it.src):
            raise failure(codes.filter, err=f"invalid subject {it.src}")
        if it.dest:
            try:
                parse_transform(it.src, it.dest)
            except BadTransform as problem:
                raise failure(codes.destination, err=problem) from None
    do_collide = do_overlap if codes is _MIRROR else is_subset
    for at, one in enumerate(transforms):
        others = transforms[:at] + transforms[at + 1 :]
        if any(do_collide(one.src, other.src) for other in others):
            raise failure(codes.overlap)


def _check_consumer(source: StreamSource, codes: _Codes) -> None:
    """Check a consumer that is there already: it says itself where to begin and what to send."""
    consumer = source.consumer
    if consumer is None:
        return
    says_more = source.opt_start_seq or source.opt_start_time is not None or source.filter_subject
    deliver = consumer.deliver_subject
    is_subject = is_literal(deliver) and is_valid_subject(deliver)
    if not is_asset_name(consumer.name) or not is_subject or says_more:
        raise failure(codes.consumer)


def _externals(config: StreamConfig) -> list[StreamSource]:
    both = [config.mirror] if config.mirror is not None else []
    return [it for it in (*both, *(config.sources or ())) if it.external is not None]


def _check_api_prefix(source: StreamSource) -> None:
    assert source.external is not None
    prefix = source.external.api
    if source.external.deliver and not _is_plain(source.external.deliver):
        raise failure(ErrCode.EXTERNAL_DELIVER_INVALID, prefix=source.external.deliver)
    if prefix and not _is_plain(prefix):
        quoted = f'"{prefix}"'
        problem = f"stream external api prefix {quoted} must be a valid subject without wildcards"
        raise failure(ErrCode.STREAM_INVALID_CONFIG, err=problem)
    if prefix and do_overlap(prefix, API_PREFIX):
        raise failure(ErrCode.EXTERNAL_API_OVERLAP, prefix=prefix, subject=API_PREFIX)


def _is_plain(prefix: str) -> bool:
    return is_valid_subject(prefix) and is_literal(prefix)


# -- beside other streams ------------------------------------------------------------------------


def check_origins(config: StreamConfig, find: Callable[[str], StreamConfig | None]) -> None:
    """Raise ApiFailure where streams of the account don't go together with those they take from.

    A mirror answers direct gets if its origin does.

    Args:
        config: Of the one; `mirror_direct` may be changed.
        find: Returns the configuration of a stream of the account.
    """
    subjects: list[str] = []
    mirror = config.mirror
    if mirror is not None and mirror.external is None:
        origin = find(mirror.name)
        if origin is not None:
            subjects += origin.subjects or ()
            _check_size(config, origin, ErrCode.MIRROR_MAX_MESSAGE_SIZE)
            config.mirror_direct = origin.allow_direct
    for source in config.sources or ():
        origin = find(source.name) if source.external is None else None
        if origin is not None:
            subjects += origin.subjects or ()
            _check_size(config, origin, ErrCode.SOURCE_MAX_MESSAGE_SIZE)
    for it in _externals(config):
        assert it.external is not None
        prefix = it.external.deliver
        for subject in subjects if prefix else ():
            if do_overlap(subject, f"{prefix}.{subject}"):
                raise failure(ErrCode.EXTERNAL_DELIVER_OVERLAP, prefix=prefix, subject=subject)
    _check_cycles(config, find)


def _check_size(config: StreamConfig, origin: StreamConfig, code: ErrCode) -> None:
    if 0 < config.max_msg_size < origin.max_msg_size:
        raise failure(code)


def _check_cycles(config: StreamConfig, find: Callable[[str], StreamConfig | None]) -> None:
    waiting, visited = [config], set()
    while waiting:
        one = waiting.pop(0)
        visited.add(one.name)
        for source in one.sources or ():
            if source.external is not None:
                continue
            if source.name in visited:
                if _is_wanted(one.subjects or [], source.filter_subject):
                    raise failure(ErrCode.STREAM_INVALID_CONFIG, err="detected cycle")
            elif found := find(source.name):
                waiting.append(found)
        if one.mirror is not None and one.mirror.external is None:
            if one.mirror.name in visited:
                raise failure(ErrCode.STREAM_INVALID_CONFIG, err="detected cycle")
            if found := find(one.mirror.name):
                waiting.append(found)


def _is_wanted(subjects: list[str], wanted: str) -> bool:
    return not wanted or any(do_overlap(subject, wanted) for subject in subjects)


def check_change(old: StreamConfig, new: StreamConfig) -> None:
    """Raise ApiFailure where a mirror becomes another one; it may become a stream of its own."""
    if new.mirror is not None and new.mirror != old.mirror:
        raise failure(ErrCode.MIRROR_NOT_UPDATABLE)
