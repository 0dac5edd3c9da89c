"""Where consumers stand, between the engine and archives."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from framework_jetstream.snapshots.archive import ConsumerState, SequencePair, Waiting

if TYPE_CHECKING:
    from framework_jetstream.engine.link import EngineAnswer

_ROW: Final = struct.Struct("=QQqq")
"""Of a message that waits: sequence, consumer sequence, deliveries, Unix time."""


def consumer_state(told: EngineAnswer) -> ConsumerState:
    """Return what the engine says of a consumer."""
    rows = list(_ROW.iter_unpack(told.data))
    return ConsumerState(
        delivered=SequencePair(told.numbers[0], told.numbers[1]),
        ack_floor=SequencePair(told.numbers[2], told.numbers[3]),
        pending={str(seq): Waiting(own, unix_ns) for seq, own, _, unix_ns in rows} or None,
        redelivered={str(seq): times - 1 for seq, _, times, _ in rows if times > 1} or None,
    )


def engine_state(state: ConsumerState) -> tuple[tuple[int, int, int, int], bytes]:
    """Return what the engine is told of a consumer: numbers, and what waits.

    Raises:
        ValueError: A number is none.
    """
    again = state.redelivered or {}
    rows = sorted((int(seq), it) for seq, it in (state.pending or {}).items())
    packed = b"".join(
        _ROW.pack(seq, it.consumer_seq, again.get(str(seq), 0) + 1, it.unix_ns) for seq, it in rows
    )
    delivered, floor = state.delivered, state.ack_floor
    numbers = (
        delivered.consumer_seq,
        delivered.stream_seq,
        floor.consumer_seq,
        floor.stream_seq,
    )
    return numbers, packed
