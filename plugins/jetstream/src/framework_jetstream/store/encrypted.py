"""What segments are encrypted with, by their heads alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework_jetstream.encryption._cipher import Keys
from framework_jetstream.encryption.errors import LockedFileError
from framework_jetstream.store._pages import state_of
from framework_jetstream.store.folder import SegmentFolder, name_of

if TYPE_CHECKING:
    import os

_HEAD_BYTES: Final = 1024


def check_segments(folder: str | os.PathLike[str], keys: Keys | None) -> tuple[int, int]:
    """Return how many segments beside a log are encrypted, and how many not with the key of now.

    Args:
        folder: Of the log.
        keys: None: there are none.

    Raises:
        OSError: One can't be read.
        LockedFileError: One is encrypted with another key.
        NewerVersionError: A newer version wrote one.
    """
    segments = SegmentFolder(folder)
    known = keys if keys is not None else Keys()
    encrypted = others = 0
    locked = ""
    for group, file in segments.files():
        with (segments.folder / name_of(group, file)).open("rb") as opened:
            head = opened.read(_HEAD_BYTES)
        is_encrypted, is_open, is_current = state_of(head, known, group, file)
        encrypted += is_encrypted
        others += not is_current
        if not is_open:
            locked = locked or name_of(group, file)
    if locked:
        raise LockedFileError(locked, key_count=known.count, opens_some=encrypted > others)
    return encrypted, others
