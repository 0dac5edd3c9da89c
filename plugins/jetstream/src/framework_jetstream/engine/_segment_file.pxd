"""The C face of a file of a segment that is being written; see `_segment_file.pyx`."""

from libc.stddef cimport size_t
from libc.stdint cimport uint64_t

cdef enum:
    PIECE_BYTES = 1 << 20
    # Are written at once.


cdef struct SegmentWriting:
    int fd
    uint64_t at
    # So much is written.
    uint64_t synced
    char* piece
    # Gathers what goes past the page cache; NULL: all goes through it, from where it lies.
    size_t used
    bint is_direct


cdef int segment_file_begin(SegmentWriting* it, int folder, const char* name, bint is_direct) noexcept nogil
cdef uint64_t segment_file_add(SegmentWriting* it, const char* chars, uint64_t length, int* error) noexcept nogil
cdef int segment_file_sync(SegmentWriting* it) noexcept nogil
cdef int segment_file_end(SegmentWriting* it, int error) noexcept nogil
