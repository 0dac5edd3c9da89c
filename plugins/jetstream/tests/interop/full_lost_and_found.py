"""A plugin that lets a disk have no room for the first archives that are set aside."""

from __future__ import annotations

import errno
import os

from framework_jetstream.snapshots.lost_folder import Writing
from framework_jetstream.stream import setting_aside

FAILURES = 2
setting_aside.AGAIN_S = 0.1  # type: ignore[misc]
_write = Writing.write
_failed = []


def write(writing: Writing, data: bytes) -> None:
    """Write a part, and no more."""
    _write(writing, data[: len(data) // 2] if len(_failed) < FAILURES else data)
    if len(_failed) < FAILURES:
        _failed.append(writing)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


Writing.write = write  # type: ignore[method-assign]
