"""What answers show of a stream, from what the engine says of it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from framework.wire.version import JETSTREAM_API_LEVEL, NATS_VERSION
from framework_jetstream.api.records import StoredMessage, StreamState
from framework_jetstream.api.times import text_from_ns
from framework_jetstream.sourcing.entry import infos_from

if TYPE_CHECKING:
    from framework_jetstream.api.records import StreamConfig
    from framework_jetstream.engine.link import EngineAnswer
    from framework_jetstream.stream.book import StreamEntry

_SUBJECT: Final = struct.Struct("=QI")


def state_from_numbers(numbers: tuple[int, ...], consumer_count: int) -> StreamState:
    """Return what the engine says of a stream."""
    messages, size, first_seq, first_ns, last_seq, last_ns, subjects, deleted = numbers[:8]
    # The engine's numbers have a sign, sequences have none.
    first_seq, last_seq = first_seq % 2**64, last_seq % 2**64
    return StreamState(
        messages=messages,
        bytes=size,
        first_seq=first_seq,
        first_ts=text_from_ns(first_ns),
        last_seq=last_seq,
        last_ts=text_from_ns(last_ns),
        num_subjects=subjects,
        num_deleted=deleted,
        consumer_count=consumer_count,
    )


def sources_of(entry: StreamEntry, told: EngineAnswer) -> dict[str, Any]:
    """Return the fields of `StreamInfo` that say where a stream takes messages from."""
    is_mirror = entry.config.mirror is not None
    infos = infos_from(entry.sources, told.data, is_mirror=is_mirror)
    return {"mirror": infos[0]} if is_mirror and infos else {"sources": infos or None}


def with_levels(config: StreamConfig) -> StreamConfig:
    """Return a configuration as answers show it: with what this server is."""
    metadata = {
        **(config.metadata or {}),
        "_nats.level": str(JETSTREAM_API_LEVEL),
        "_nats.ver": NATS_VERSION,
    }
    return replace(config, metadata=dict(sorted(metadata.items())))


def subjects_from_bytes(data: bytes) -> list[tuple[str, int]]:
    """Return (subject, messages), by subject."""
    rows = []
    at = 0
    while at < len(data):
        count, length = _SUBJECT.unpack_from(data, at)
        at += _SUBJECT.size
        rows.append((data[at : at + length].decode("utf-8", "replace"), count))
        at += length
    return sorted(rows)


def message_from_answer(told: EngineAnswer) -> StoredMessage:
    """Return a message that the engine has read."""
    seq, time_ns, subject_length, header_length = told.numbers[:4]
    body = subject_length + header_length
    return StoredMessage(
        subject=told.data[:subject_length].decode("utf-8", "replace"),
        seq=seq,
        hdrs=told.data[subject_length:body],
        data=told.data[body:],
        time=text_from_ns(time_ns),
    )
