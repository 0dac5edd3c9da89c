"""Streams and consumers come back from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework_jetstream.api.saved import (
    Damaged,
    Restored,
    RestoredConsumer,
    RestoredStream,
    SavedConsumer,
    SavedStream,
    saved_from_text,
)
from framework_jetstream.log.offline import words_of
from framework_jetstream.stream.rules import limits_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework_jetstream.engine._engine import Engine
    from framework_jetstream.log import Log


def restore(engine: Engine, log: Log) -> Restored:
    """Let an engine have the streams and consumers of a log, as they were.

    Raises:
        msgspec.ValidationError: A newer version has described a stream or consumer.
    """
    saved: dict[int, SavedStream | SavedConsumer] = {}
    numbers: dict[int, int] = {}
    unknown: list[int] = []
    for group in log.groups():
        state = log.group(group)
        assert state is not None, "it is listed"
        if not state.description:
            unknown.append(group)
            continue
        known = saved[group] = saved_from_text(state.description)
        numbers[group] = len(saved)
        if isinstance(known, SavedStream):
            engine.restore_stream(
                numbers[group],
                group,
                known.config.name.encode(),
                limits_of(known.config),
                known.config.first_seq,
            )
        else:
            engine.restore_consumer(numbers[group], group)

    def update(group: int, text: bytes) -> dict[str, int] | None:
        known = saved[group] = saved_from_text(text)
        return limits_of(known.config) if isinstance(known, SavedStream) else None

    for group in engine.replay(update):
        engine.forget_group(group)
        del saved[group]
    return Restored(_families(engine, saved, numbers), _damaged(engine, log, saved, unknown))


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
    saved: dict[int, SavedStream | SavedConsumer],
    unknown: list[int],
) -> list[Damaged]:
    """Return what is damaged: of streams by sequence, of others by where it stands."""
    found = [
        _in_words(saved.get(group), _lost(first, last)) for group, first, last in engine.lost()
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


def _lost(first: int, last: int) -> str:
    if not last:
        return f"messages are lost from sequence {first} on, nobody knows how many"
    if first == last:
        return f"the message with sequence {first} is lost"
    return f"the messages with sequences {first} to {last} are lost"


def _in_words(saved: SavedStream | SavedConsumer | None, what: str) -> Damaged:
    match saved:
        case SavedStream():
            return Damaged(saved.account, saved.config.name, "", what)
        case SavedConsumer():
            return Damaged(saved.account, saved.stream, saved.config.name, what)
        case _:
            return Damaged("", "", "", what)


def _families(
    engine: Engine, saved: dict[int, SavedStream | SavedConsumer], numbers: dict[int, int]
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
