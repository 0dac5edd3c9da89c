"""Read segments that no server has open, and change nothing."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from framework_jetstream.store._segmentface import read_segment
from framework_jetstream.store.folder import SegmentFolder, name_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from framework_jetstream.encryption._cipher import Keys
    from framework_jetstream.store._segmentface import Segment, SegmentDamage


class SegmentReason(IntEnum):
    """What was found bad in a segment."""

    HEAD = 1
    """Or it is another file's. Nothing is lost, if the rest is this one's."""
    END = 2
    """Nothing is lost."""
    DIRECTORY = 3
    """One of both: nothing is lost."""
    DIRECTORIES = 4
    """Both: all messages of the file are lost."""
    COLUMNS = 5
    """Of a block of messages, which are lost."""
    BODY = 6
    """Of messages, which are lost."""
    NEWER = 7
    """A newer version wrote the file; it was not read."""
    TIMES = 8
    """Of a block of messages, beside which they stand as well. Nothing is lost."""


def read_segments(
    folder: str | os.PathLike[str], keys: Keys | None = None
) -> Iterator[tuple[str, Segment]]:
    """Yield the segments beside a log by name, those of a stream in their order.

    Raises:
        OSError: One can't be read.
        LockedFileError: One is encrypted with another key.
    """
    segments = SegmentFolder(folder)
    for group, file in segments.files():
        data = segments.read(group, file)
        # What the name says and the file does not is damage; the salt is the file's own.
        said = read_segment(data, keys=keys)
        if (said.group, said.file) != (group, file):
            said = read_segment(data, 0, group, file, keys)
        yield name_of(group, file), said


def words_of_damage(name: str, damage: SegmentDamage) -> str:
    """Return what is damaged in a segment, for people."""
    what = SegmentReason(damage.reason).name.lower()
    lost = ""
    if damage.first_seq:
        lost = f": message {damage.first_seq} is lost"
        if damage.last_seq != damage.first_seq:
            lost = f": messages {damage.first_seq} to {damage.last_seq} are lost"
    return f"file {name}, byte {damage.offset}: {what}{lost}"
