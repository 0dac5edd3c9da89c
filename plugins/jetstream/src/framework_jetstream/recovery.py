"""Streams and consumers come back from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from framework_jetstream.api.saved import (
    Damaged,
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
from framework_jetstream.log.offline import words_of
from framework_jetstream.log.record import NewerVersionError
from framework_jetstream.store.folder import name_of
from framework_jetstream.store.named import segments_of
from framework_jetstream.store.offline import SegmentReason, words_of_damage
from framework_jetstream.stream.rules import limits_of

if TYPE_CHECKING:
    from collections.abc import Callable

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


def restore(engine: Engine, log: Log, segments: Segments) -> Restored:
    """Let an engine have the streams and consumers of a log and its segments, as they were.

    Raises:
        msgspec.ValidationError: A newer version has described a stream or consumer.
        NewerVersionError: A newer version wrote a segment.
    """
    saved: dict[int, Saved] = {}
    numbers: dict[int, int] = {}
    unknown: list[int] = []
    damaged: list[tuple[int, int, SegmentDamage]] = []
    last_files = dict(segments.files())
    needed: set[tuple[int, int]] = set()
    for group in log.groups():
        state = log.group(group)
        assert state is not None, "it is listed"
        if not state.description:
            unknown.append(group)
            continue
        known, description, named = _described(state)
        saved[group] = known
        numbers[group] = len(saved)
        if isinstance(known, SavedStream):
            needed |= {(group, file) for file in named.files} if named is not None else set()
            damaged += engine.restore_stream(
                numbers[group],
                group,
                known.config.name.encode(),
                description,
                limits_of(known.config),
                known.config.first_seq,
                last_files.get(group, 0) + 1,
                segments.read,
                known.replicas,
            )
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
    for group, file in sorted({it[:2] for it in damaged}):
        segments.keep(group, file)
    if not log.damage and not unknown:
        for group, file in set(segments.files()) - needed:
            segments.remove(group, file)
    found = _damaged(engine, log, saved, unknown) + _damaged_segments(saved, damaged)
    groups = {it.name: numbers[at] for at, it in saved.items() if isinstance(it, SavedGroup)}
    return Restored(_families(engine, saved, numbers), found, groups)


def _described(state: GroupState) -> tuple[Saved, bytes, NamedSegments | None]:
    """Return what a group is, as it stands in the log or with its segments."""
    known = saved_from_text(state.description)
    if isinstance(known, SavedStream) and not known.replicas:
        named = segments_of(state.snapshot)
        if named is not None:
            return saved_from_text(named.description), named.description, named
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
        _in_words(saved.get(group), words_of_loss(first, last))
        for group, first, last in engine.lost()
    ]
    told = {group for group, _, _ in engine.lost()}
    found += [
        _in_words(
            None, f"group {group} of the log: nothing says whose it is, and its files are kept"
        )
        for group in unknown
    ]
    return found + [
        _in_words(saved.get(it.group), words_of(it)) for it in log.damage if it.group not in told
    ]


def _in_words(saved: Saved | None, what: str) -> Damaged:
    match saved:
        case SavedStream():
            return Damaged(saved.account, saved.config.name, "", what)
        case SavedConsumer():
            return Damaged(saved.account, saved.stream, saved.config.name, what)
        case _:
            return Damaged("", "", "", what)


def _families(
    engine: Engine, saved: dict[int, Saved], numbers: dict[int, int]
) -> list[RestoredStream]:
    """Return streams with their consumers; a consumer whose stream is gone goes as well."""
    found = {
        (it.account, it.config.name, it.created_ns): RestoredStream(numbers[group], group, it, [])
        for group, it in saved.items()
        if isinstance(it, SavedStream)
    }
    for group, it in saved.items():
        if isinstance(it, SavedConsumer):
            stream = found.get((it.account, it.stream, it.stream_created_ns))
            if stream is None:
                engine.forget_group(group)
            else:
                stream.consumers.append(RestoredConsumer(numbers[group], it))
    return list(found.values())
