"""A segment of another server becomes one of this server's: its bytes are checked, and its heads say where it is from now on.

Bodies, columns and all that directories say of them stay as they are, and the sums that were made when they were written.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from framework_jetstream.log._record cimport head_sum, rounded
from framework_jetstream.store._segment cimport (
    SEGMENT_PAGE_BYTES, DirectoryHead, SegmentEnd, SegmentHead, SegmentMessage, SegmentReader, segment_close, segment_next, segment_open,
    segment_place,
)

cdef enum:
    CRC_AT = 8
    # In SegmentHead and SegmentEnd, behind the magic.


cdef bint _is_whole(const char* data, uint64_t size, const SegmentPlace* place) noexcept nogil:
    """Whether all of a segment is as it was written there."""
    cdef SegmentReader reader
    cdef SegmentMessage message
    cdef bint is_good = segment_open(&reader, data, size, place.salt, place.group, place.file)
    while is_good and segment_next(&reader, &message):
        pass
    is_good = is_good and reader.damage_count == 0
    segment_close(&reader)
    return is_good


cdef void _move_directory(char* data, uint64_t at, const SegmentPlace* now) noexcept nogil:
    cdef DirectoryHead head
    memcpy(&head, data + at, sizeof(head))
    head.crc = head_sum(segment_place(now.salt, now.group, now.file, at), data + at, head.length)
    memcpy(data + at, &head.crc, sizeof(uint32_t))


cdef bint segment_move(char* data, uint64_t size, const SegmentPlace* before, const SegmentPlace* now) noexcept nogil:
    """Let a segment be another one's; False: not all of it is as it was written, and it is of no use.

    Args:
        data: The segment, not encrypted; is changed.
        before: Whose it was.
        now: Whose it is to be.
    """
    cdef SegmentHead* head = <SegmentHead*> data
    cdef SegmentEnd* end
    cdef uint64_t at, second
    if size < sizeof(SegmentHead) + sizeof(SegmentEnd) or not _is_whole(data, size, before):
        return False
    at = size - sizeof(SegmentEnd)
    end = <SegmentEnd*> (data + at)
    # Both directories are there, since nothing is damaged; the second one may begin a page.
    second = at - end.directory_bytes
    if second not in (end.directory_at + end.directory_bytes, rounded(end.directory_at + end.directory_bytes, SEGMENT_PAGE_BYTES)):
        return False
    head.salt = end.salt = now.salt
    head.group = end.group = now.group
    head.file = end.file = now.file
    head.crc = head_sum(0, &head.crc, sizeof(SegmentHead) - CRC_AT)
    _move_directory(data, end.directory_at, now)
    _move_directory(data, second, now)
    end.crc = head_sum(segment_place(now.salt, now.group, now.file, at), &end.crc, sizeof(SegmentEnd) - CRC_AT)
    return True
