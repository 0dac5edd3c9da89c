"""Which segments a stream has, as the SNAPSHOT of its group in the log says it.

Written by `engine/_segments.pyx`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework_jetstream.log.record import NewerVersionError

if TYPE_CHECKING:
    from framework_jetstream.log.record import GroupState

_VERSION: Final = 1
_BEGIN: Final = struct.pack("<H", _VERSION)
"""Of a state in segments; other states of streams have other versions."""
_LENGTH: Final = struct.Struct("<I")
"""Of the members, which come before the state of a group of several servers."""
_HEAD: Final = struct.Struct("<HHIIIQ")
_ROW: Final = struct.Struct("<5Q")


class NamedSegments(Struct, frozen=True):
    """The segments of a stream."""

    description: bytes
    """Of the stream, as it was when they were written."""
    files: dict[int, int]
    """Messages by number of the file, when it was written; in order of sequences."""


def named_segments(state: GroupState, *, is_shared: bool) -> NamedSegments | None:
    """Return which segments the group of a stream has; None: none.

    Raises:
        NewerVersionError: A newer version has said it.
    """
    if not is_shared:
        return segments_of(state.snapshot)
    if len(state.snapshot) < _LENGTH.size:
        return None
    text = state.snapshot[_LENGTH.size + _LENGTH.unpack_from(state.snapshot)[0] :]
    return segments_of(text) if text[:2] == _BEGIN else None


def segments_of(snapshot: bytes) -> NamedSegments | None:
    """Return what a SNAPSHOT says; None: all of the stream is in the log.

    Raises:
        NewerVersionError: A newer version has written it.
    """
    if len(snapshot) < _HEAD.size:
        return None
    version, _, count, _, _, _ = _HEAD.unpack_from(snapshot)
    if version > _VERSION:
        raise NewerVersionError
    rows_end = _HEAD.size + count * _ROW.size
    rows = _ROW.iter_unpack(snapshot[_HEAD.size : rows_end])
    return NamedSegments(snapshot[rows_end:], {file: messages for file, _, _, messages, _ in rows})
