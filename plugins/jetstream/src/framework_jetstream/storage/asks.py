"""What the thread of segments asks of storage kinds, as `engine/_segment_jobs.pyx` writes it."""

from __future__ import annotations

import os
import struct
from enum import IntEnum
from typing import Final, NamedTuple

_ROW: Final = struct.Struct("=IIQQ")
_ROWS_MAX: Final = 2048


class What(IntEnum):
    """What is asked."""

    KEEP = 1
    """A segment was written here, and is to go to the kind."""
    FETCH = 2
    """Somebody wants to read one that is not here."""
    REMOVE = 3
    """Nobody needs it any more."""


class Ask(NamedTuple):
    """A row."""

    what: What
    kind: int
    """The number of the kind, of what is to be kept."""
    group: int
    file: int


def read_asks(fd: int) -> list[Ask]:
    """Return what is in a pipe that does not block."""
    try:
        data = os.read(fd, _ROW.size * _ROWS_MAX)
    except BlockingIOError:
        return []
    rows = _ROW.iter_unpack(data)
    return [Ask(What(what), kind, group, file) for what, kind, group, file in rows]
