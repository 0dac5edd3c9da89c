"""Streams and consumers come back from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from msgspec.structs import replace

from framework.errors import FrameworkError
from framework_jetstream.api.saved import (
    Damaged,
    Offline,
    Restored,
    RestoredConsumer,
    RestoredStream,
    Saved,
    SavedConsumer,
    SavedGroup,
    SavedStream,
    saved_from_text,
    words_of_loss,
)
from framework_jetstream.encryption.errors import LockedFileError
from framework_jetstream.engine.verbs import CONTROL_GROUP
from framework_jetstream.log.folder import StoreError
from framework_jetstream.log.offline import words_of
from framework_jetstream.log.record import NewerVersionError
from framework_jetstream.storage.records import StorageProblemError
from framework_jetstream.store.folder import name_of
from framework_jetstream.store.named import named_segments
from framework_jetstream.store.offline import SegmentReason, words_of_damage
from framework_jetstream.stream.rules import limits_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from framework_jetstream.engine._engine import Engine
    from framework_jetstream.log import Log
    from framework_jetstream.log.record import GroupState
    from framework_jetstream.store._segmentface import SegmentDamage
    from framework_jetstream.store.named import NamedSegments


class Segments(Protocol):
    """Where segments are: a `SegmentFolder`, or a simulated disk."""

    def files(self) -> list[tuple[int, int]]:
        """Return (group, file) of all segments, sorted."""

    def read(self, group: int, file: int) -> bytes:
        """Return what is in one; nothing, if it is not there."""

    def keep(self, group: int, file: int) -> None:
        """Let a damaged one stay for people."""

    def remove(self, group: int, file: int) -> None:
        """Remove one."""


class MissingEntriesError(FrameworkError):
    """Entries of a stream are missing that nobody else may have."""

    def __init__(self, stream: SavedStream) -> None:
        super().__init__(
            "entries are missing in the log, this server had it alone, and what is missing may say"
            " that others have it now; what is left is kept"
        )
        self.stream = stream


def restore(engine: Engine, log: Log, segments: Segments) -> Restored:
    """Let an engine have the streams and consumers of a log and its segments, as they were.

    A stream whose storage kind fails stays in the log as it is, and is not served.

    Raises:
        msgspec.ValidationError: A newer version has described a stream or consumer.
        NewerVersionError: A newer version wrote a segment.
    """
    saved: dict[int, Saved] = {}
    numbers: dict[int, int] = {}
    unknown: list[int] = []
    anew = 0
    damaged: list[tuple[int, int, SegmentDamage]] = []
    last_files = dict(segments.files())
    needed: set[tuple[int, int]] = set()
    offline: dict[tuple[str, str, int], Offline] = {}
    for group, known, description, named, is_anew in _read_groups(engine, log, unknown, offline):
        anew += is_anew
        saved[group] = known
        numbers[group] = CONTROL_GROUP if isinstance(known, SavedGroup) else len(saved)
        if isinstance(known, SavedStream):
            needed |= {(group, file) for file in named.files} if named is not None else set()
            next_segment = last_files.get(group, 0) + 1
            try:
                damaged += engine.restore_stream(
                    numbers[group],
                    group,
                    known.config.name.encode(),
                    description,
                    limits_of(known.config),
                    known.config.first_seq,
                    next_segment,
                    segments.read,
                    known.replicas,
                    known.config.storage == "file",
                )
            except (StorageProblemError, LockedFileError) as problem:
                engine.abandon_stream(group)
                del saved[group]
                what = str(problem)
                offline[_identity(known)] = Offline(known.account, known.config, what, [group])
        elif isinstance(known, SavedGroup):
            engine.restore_group(numbers[group], group, known.replicas)
        else:
            engine.restore_consumer(numbers[group], group, known.replicas)

    def update(group: int, text: bytes) -> dict[str, int] | None:
        known = saved[group] = saved_from_text(text)
        return limits_of(known.config) if isinstance(known, SavedStream) else None

    _check_versions(damaged)
    for group in engine.replay(update):
        engine.forget_group(group)
        del saved[group]
    _tidy(segments, damaged, needed, is_sure=not log.damage and not unknown)
    found = _damaged(engine, log, saved, unknown) + _damaged_segments(saved, damaged)
    groups = {it.name: numbers[at] for at, it in saved.items() if isinstance(it, SavedGroup)}
    families = _families(engine, saved, numbers)
    may_lack = bool(unknown or log.unknown_damages)
    return Restored(families, found, groups, list(offline.values()), may_lack, anew)


def _tidy(
    segments: Segments,
    damaged: list[tuple[int, int, SegmentDamage]],
    needed: set[tuple[int, int]],
    *,
    is_sure: bool,
) -> None:
    """Let damaged segments stay for people, and remove those that nobody needs.

    Args:
        segments: Where they are.
        damaged: As `Engine.restore_stream` returns it.
        needed: By group and file.
        is_sure: Whether the log has said all that is needed.
    """
    for group, file in sorted({it[:2] for it in damaged}):
        segments.keep(group, file)
    for group, file in set(segments.files()) - needed if is_sure else ():
        segments.remove(group, file)


def _streams_first(log: Log, unknown: list[int]) -> list[tuple[int, GroupState, Saved]]:
    """Return the groups that say what they are, streams before others; `unknown` gets the rest."""
    streams: list[tuple[int, GroupState, Saved]] = []
    others: list[tuple[int, GroupState, Saved]] = []
    for group in log.groups():
        state = log.group(group)
        assert state is not None, "it is listed"
        if not state.description:
            unknown.append(group)
            continue
        saved = saved_from_text(state.description)
        (streams if isinstance(saved, SavedStream) else others).append((group, state, saved))
    return streams + others


def _identity(stream: SavedStream) -> tuple[str, str, int]:
    """Return what tells a stream from all others, also from later ones of its name."""
    return stream.account, stream.config.name, stream.created_ns


def _stream_of(consumer: SavedConsumer) -> tuple[str, str, int]:
    """Return the identity of a consumer's stream."""
    return consumer.account, consumer.stream, consumer.stream_created_ns


def _read_groups(
    engine: Engine, log: Log, unknown: list[int], offline: dict[tuple[str, str, int], Offline]
) -> Iterator[tuple[int, Saved, bytes, NamedSegments | None, bool]]:
    """Yield number and what `_read_group` returns of groups, streams first.

    Args:
        engine: Of which they are to be.
        log: Has them.
        unknown: Gets those that do not say what they are.
        offline: Streams that are not served, and gets more; their consumers are left out.
    """
    for group, state, begun in _streams_first(log, unknown):
        try:
            known, description, named, is_anew = _read_group(engine, log, group, state, begun)
        except MissingEntriesError as problem:
            it = problem.stream
            offline[_identity(it)] = Offline(it.account, it.config, str(problem), [group])
            continue
        if isinstance(known, SavedConsumer) and _stream_of(known) in offline:
            offline[_stream_of(known)].groups.append(group)
            continue
        yield group, known, description, named, is_anew


def _read_group(
    engine: Engine, log: Log, group: int, state: GroupState, begun: Saved
) -> tuple[Saved, bytes, NamedSegments | None, bool]:
    """Return what a group is, as text as well, its segments, and whether it begins anew here.

    That does what others have too, if some of it is lost: what is left of it is not to be told from
    what is not, and others have all of it. Where they have had it, and have it no more, what is
    left is all that there is.

    Raises:
        MissingEntriesError: Of a stream so much is lost that nobody knows whether others have it.
    """
    known, description, named = _described(state, begun)
    _check_sharing(engine, known)
    if not state.is_doubted or not _is_shared(known):
        return known, description, named, False
    if not isinstance(known, SavedGroup) and engine.has_alone(group):
        if isinstance(known, SavedStream) and engine.misses_entries(group):
            raise MissingEntriesError(known)
        return known, description, named, False
    log.begin_anew(group)
    return begun, state.description, None, True


def _is_shared(known: Saved) -> bool:
    """Return whether other servers have a group too."""
    return isinstance(known, SavedGroup) or bool(known.replicas)


def _check_sharing(engine: Engine, known: Saved) -> None:
    """Raise StoreError where what is in the log does not go with how this server is configured."""
    is_assigned = isinstance(known, SavedGroup) or bool(known.group or known.replicas)
    if is_assigned and not engine.has_replicas:
        raise StoreError(
            "The store belongs to a cluster whose servers share streams: `replication: true` in the"
            " block `jetstream`, and the block `cluster`, have to say so"
        )


def _described(state: GroupState, known: Saved) -> tuple[Saved, bytes, NamedSegments | None]:
    """Return what a group is, as it stands in the log (`known`), or with its segments."""
    if isinstance(known, SavedStream):
        named = named_segments(state, is_shared=bool(known.replicas))
        if named is not None:
            then = cast("SavedStream", saved_from_text(named.description))
            return replace(then, replicas=known.replicas), named.description, named
    return known, state.description, None


def _check_versions(damaged: list[tuple[int, int, SegmentDamage]]) -> None:
    """Raise NewerVersionError if a newer version wrote a segment."""
    if any(it.reason == SegmentReason.NEWER for _, _, it in damaged):
        raise NewerVersionError


def _damaged_segments(
    saved: dict[int, Saved],
    damaged: list[tuple[int, int, SegmentDamage]],
) -> list[Damaged]:
    """Return which segments are damaged in parts that have no messages; lost ones are named."""
    return [
        _in_words(saved.get(group), words_of_damage(name_of(group, file), it))
        for group, file, it in damaged
        if not it.first_seq
    ]


def by_account(
    streams: list[RestoredStream], number: Callable[[str], int]
) -> tuple[list[RestoredStream], list[RestoredStream]]:
    """Return the streams whose account is known, and the others.

    Args:
        streams: All that were read.
        number: Returns an account's; KeyError: it is not known.
    """
    known, strangers = [], []
    for stream in streams:
        try:
            number(stream.saved.account)
        except KeyError:
            strangers.append(stream)
        else:
            known.append(stream)
    return known, strangers


def _damaged(
    engine: Engine,
    log: Log,
    saved: dict[int, Saved],
    unknown: list[int],
) -> list[Damaged]:
    """Return what is damaged: of streams by sequence, of others by where it stands."""
    found = [
        replace(_in_words(saved.get(group), words_of_loss(first, last)), lost=(first, last))
        for group, first, last in engine.lost()
    ]
    told = {group for group, _, _ in engine.lost()}
    shared = {group for group, known in saved.items() if _is_shared(known)}
    if shared == set(saved):
        shared.add(0)  # nobody knows whose it was, and others have all of what it can be
    found += [
        _in_words(
            None, f"group {group} of the log: nothing says whose it is, and its files are kept"
        )
        for group in unknown
    ]
    return found + [
        _in_words(saved.get(it.group), words_of(it))
        for it in log.damage
        if it.group not in told | shared
    ]


def _in_words(saved: Saved | None, what: str) -> Damaged:
    match saved:
        case SavedStream():
            is_shared = bool(saved.replicas) and saved.config.num_replicas > 1
            return Damaged(saved.account, saved.config.name, "", what, is_shared=is_shared)
        case SavedConsumer():
            return Damaged(saved.account, saved.stream, saved.config.name, what)
        case _:
            return Damaged("", "", "", what, is_nameless=saved is None)


def _families(
    engine: Engine, saved: dict[int, Saved], numbers: dict[int, int]
) -> list[RestoredStream]:
    """Return streams with their consumers; a consumer whose stream is gone goes as well."""
    found = {
        _identity(it): RestoredStream(numbers[group], group, it, [])
        for group, it in saved.items()
        if isinstance(it, SavedStream)
    }
    for group, it in saved.items():
        if isinstance(it, SavedConsumer):
            stream = found.get(_stream_of(it))
            if stream is None:
                engine.forget_group(group)
            else:
                stream.consumers.append(RestoredConsumer(numbers[group], it))
    return list(found.values())
