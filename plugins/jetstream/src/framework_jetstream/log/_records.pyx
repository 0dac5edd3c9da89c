"""Records of the log as they are made and looked at before they have a place: all of them but the sum of their head."""

from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from framework.wire._crc32c cimport crc32c
from framework_jetstream.log._record cimport (
    RECORD_BYTES_MAX, PartHead, RecordHead, bad_part, record_bytes, record_fits, rounded,
)


cdef uint32_t _part_count(const LogPart* parts, uint32_t count) noexcept nogil:
    cdef uint32_t at, found = 0
    for at in range(count):
        found += not parts[at].goes_on
    return found


cdef uint64_t record_length(const LogPart* parts, uint32_t count) noexcept nogil:
    """Return how long the record of `count` pieces of parts is, in bytes."""
    cdef uint64_t length = sizeof(RecordHead) + _part_count(parts, count) * sizeof(PartHead)
    cdef uint32_t at
    for at in range(count):
        length += parts[at].length
    return rounded(length, 8)


cdef void record_fill(
    char* record, uint16_t kind, uint16_t flags, uint32_t group, uint64_t term, uint64_t index, const LogPart* parts, uint32_t count
) noexcept nogil:
    """Make a record at a place of `record_length` bytes; `crc` of its head is for who knows where it will stand."""
    cdef RecordHead* head = <RecordHead*> record
    cdef PartHead* part = <PartHead*> (record + sizeof(RecordHead))
    cdef uint64_t used = record_length(parts, count)
    cdef uint32_t at
    cdef bint goes_on = False
    memset(record + used - 8, 0, 8)  # the zeros behind; what else is there is written over
    head.length = <uint32_t> used
    head.kind = kind
    head.flags = flags
    head.part_count = _part_count(parts, count)
    head.group = group
    head.seal_count = 0
    head.term = term
    head.index = index
    used = record_bytes(head)
    for at in range(count):
        part.length = parts[at].length + (part.length if goes_on else 0)
        part.crc = crc32c(part.crc if goes_on else 0, parts[at].chars, parts[at].length)
        memcpy(record + used, parts[at].chars, parts[at].length)
        used += parts[at].length
        goes_on = parts[at].goes_on
        part += not goes_on


cdef bint record_is_of(const char* record, uint64_t length, uint16_t kind, uint64_t term, uint64_t index) noexcept nogil:
    """Return whether a record that came from elsewhere is whole, to the last byte of its parts, and is the entry that it has to be."""
    cdef const RecordHead* head = <const RecordHead*> record
    if length > RECORD_BYTES_MAX or not record_fits(record, length) or head.length != length:
        return False
    if head.kind != kind or head.flags or head.seal_count or head.term != term or head.index != index:
        return False
    return bad_part(record) < 0
