"""Segments as Python has them: for tools that read files which no server has open, and for tests."""

from collections import namedtuple

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.encryption._cipher cimport Keys
from framework_jetstream.store._pages cimport plain_bytes
from framework_jetstream.store._segment cimport (
    LiveRun, SegmentMessage, SegmentReader, segment_close, segment_next, segment_open, segment_run,
)

SegmentDamage = namedtuple("SegmentDamage", ("reason", "first_seq", "last_seq", "offset"))
Segment = namedtuple("Segment", ("group", "file", "messages", "lives", "damage"))


cdef list damage_of(const SegmentReader* reader):
    """Return what a reader has found damaged."""
    cdef uint32_t at
    return [
        SegmentDamage(
            reader.damages[at].reason, reader.damages[at].first_seq, reader.damages[at].last_seq, reader.damages[at].offset
        )
        for at in range(reader.damage_count)
    ]


def read_segment(data: bytes, salt: int = 0, group: int = 0, file: int = 0, keys: Keys | None = None) -> Segment:
    """Read all of a segment.

    Args:
        data: The file.
        salt: What the file has to be written with, as `group` and `file`.
        group: Of the stream in the log.
        file: Its number; 0: all three are what the file says itself.
        keys: Of files that are encrypted.

    Returns:
        Messages as (sequence, subject, header, payload, time), runs of messages of earlier files that live as (first sequence, count),
        and what is damaged, for which 0 as sequences means that nothing is lost, or that it is not known what.

    Raises:
        LockedFileError: It is encrypted with another key.
    """
    cdef SegmentReader reader
    cdef SegmentMessage message
    cdef LiveRun run
    cdef uint64_t at
    cdef bint is_current
    cdef Keys those = keys if keys is not None else Keys()
    data = plain_bytes(&those.ring, data, group, file, &is_current)
    messages = []
    lives = []
    if segment_open(&reader, data, len(data), salt, group, file):
        while segment_next(&reader, &message):
            messages.append((
                message.seq, message.subject[:message.subject_length], message.chars[:message.header_length],
                message.chars[message.header_length:message.header_length + message.payload_length], message.time_ns,
            ))
        for at in range(reader.head.run_count):
            run = segment_run(&reader, at)
            lives.append((run.first_seq, run.count))
    damage = damage_of(&reader)
    segment_close(&reader)
    return Segment(reader.group, reader.file, messages, lives, damage)
