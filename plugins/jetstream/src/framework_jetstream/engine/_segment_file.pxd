"""The C face of a file of a segment that is being written, or synced; see `_segment_file.pyx`."""

from libc.stdint cimport uint64_t


cdef struct SegmentWriting:
    int fd
    uint64_t at
    # So much is written.
    uint64_t synced
    # Or is on its way to the disk.
    bint is_synced
    # All of it is to be on the disk when it ends.


cdef int segment_file_begin(SegmentWriting* it, int folder, const char* name, bint is_synced) noexcept nogil
cdef int segment_file_open(SegmentWriting* it, int folder, const char* name) noexcept nogil
cdef int segment_file_add(SegmentWriting* it, const char* chars, uint64_t length) noexcept nogil
cdef int segment_file_sync(SegmentWriting* it, uint64_t end) noexcept nogil
cdef int segment_file_end(SegmentWriting* it, int error) noexcept nogil
