"""Whether what stands in a file of the log is what was written there, one round after the other; no I/O."""

from framework_jetstream.log._record cimport (
    FILE_HEAD_COPY, FileHead, RecordHead, RoundHead, bad_part, file_head_is_good, place_sum, record_is_good, round_is_good,
)


cdef bint file_heads_are_good(const char* source, uint64_t file) noexcept nogil:
    """Whether a file begins with both of its heads."""
    cdef const FileHead* first = <const FileHead*> source
    cdef const FileHead* second = <const FileHead*> (source + FILE_HEAD_COPY)
    return file_head_is_good(first) and first.file == file and file_head_is_good(second) and second.file == file


cdef uint64_t round_length(const char* source, uint64_t room, uint64_t salt, uint64_t file, uint64_t offset) noexcept nogil:
    """Return the length of a round whose head stands there, and which ends within `room` bytes; 0: none does."""
    return (<const RoundHead*> source).length if round_is_good(source, room, place_sum(salt, file, offset)) else 0


cdef bint round_is_whole(const char* source, uint64_t salt, uint64_t file, uint64_t offset) noexcept nogil:
    """Whether the records of a round, whose head is good, are what was written."""
    cdef uint64_t at = sizeof(RoundHead), end = (<const RoundHead*> source).used
    while at < end:
        if not record_is_good(source + at, end - at, place_sum(salt, file, offset + at)) or bad_part(source + at) >= 0:
            return False
        at += (<const RecordHead*> (source + at)).length
    return True
