"""What segments are encrypted with, by their heads alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework_jetstream.encryption._cipher import Keys
from framework_jetstream.encryption.errors import LockedFileError
from framework_jetstream.store._pages import state_of
from framework_jetstream.store.folder import SegmentFolder, name_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

_HEAD_BYTES: Final = 1024
_TOLD_BYTES: Final = 128
"""Of it, that say how the rest is encrypted."""


def head_of(data: bytes, group: int, file: int) -> bytes:
    """Return the bytes of a segment that say how it is encrypted; none, if it is not."""
    is_encrypted, _, _ = state_of(data[:_HEAD_BYTES], Keys(), group, file)
    return data[:_TOLD_BYTES] if is_encrypted else b""


def check_segments(
    folder: str | os.PathLike[str], keys: Keys | None, elsewhere: Mapping[tuple[int, int], bytes]
) -> tuple[int, int]:
    """Return how many segments beside a log are encrypted, and how many not with the key of now.

    Args:
        folder: Of the log.
        keys: None: there are none.
        elsewhere: What `head_of` said of those that are in another place, by group and file.

    Raises:
        OSError: One can't be read.
        LockedFileError: One is encrypted with another key.
        NewerVersionError: A newer version wrote one.
    """
    segments = SegmentFolder(folder)
    known = keys if keys is not None else Keys()
    encrypted = others = 0
    locked = ""
    heads = {place: head.ljust(_HEAD_BYTES, b"\0") for place, head in elsewhere.items()}
    for group, file in segments.files():
        with (segments.folder / name_of(group, file)).open("rb") as opened:
            heads[group, file] = opened.read(_HEAD_BYTES)
    for (group, file), head in sorted(heads.items()):
        is_encrypted, is_open, is_current = state_of(head, known, group, file)
        encrypted += is_encrypted
        others += not is_current
        if not is_open:
            locked = locked or name_of(group, file)
    if locked:
        raise LockedFileError(locked, key_count=known.count, opens_some=encrypted > others)
    return encrypted, others
