"""A source of a stream, as others see it, and how it is shown.

Source: nats-server `stream.go`, `sourceInfo`, `sourcesInfo`, `mirrorInfo`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from framework_jetstream.api.errors import ApiError, ErrCode, api_error
from framework_jetstream.api.records import StreamSource, StreamSourceInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.actors import ActorRef

_ROW: Final = struct.Struct("=5q")
STALLS: Final = 3
"""Heartbeats in a row that speak of the same request: answers don't reach the consumer."""


class SourceEntry(Struct, kw_only=True):
    """A source, or the origin of a mirror."""

    number: int
    """By which the engine knows it."""
    config: StreamSource
    source: ActorRef[Any] | None = None
    error: ApiError | None = None
    """Why it has no consumer."""


class SourceRow(Struct, frozen=True):
    """What the engine says of one."""

    pending: int = 0
    seq: int = 0
    silence_ns: int = -1
    stalls: int = 0


def rows_from_bytes(data: bytes) -> dict[int, SourceRow]:
    """Return what the engine says of the sources of a stream, by their numbers."""
    return {
        number: SourceRow(pending % 2**64, seq % 2**64, silence_ns, stalls)
        for number, pending, seq, silence_ns, stalls in _ROW.iter_unpack(data)
    }


def infos_from(
    entries: Sequence[SourceEntry], data: bytes, *, is_mirror: bool
) -> list[StreamSourceInfo]:
    """Return sources as the API shows them, in the order of their stream's configuration."""
    rows = rows_from_bytes(data)
    return [_info(it, rows.get(it.number, SourceRow()), is_mirror=is_mirror) for it in entries]


def _info(entry: SourceEntry, row: SourceRow, *, is_mirror: bool) -> StreamSourceInfo:
    error = entry.error
    if error is None and row.stalls >= STALLS:
        error = api_error(ErrCode.SOURCE_STALLED)
    return StreamSourceInfo(
        name=entry.config.name,
        external=entry.config.external,
        lag=row.pending,
        seq=0 if is_mirror else row.seq,
        active=row.silence_ns,
        error=error,
        filter_subject=entry.config.filter_subject,
        subject_transforms=entry.config.subject_transforms,
    )
