"""The C face of segments that come from elsewhere; see `_segment_moving.pyx`."""

from libc.stdint cimport uint64_t


cdef struct SegmentPlace:
    # Whose a segment is: a part of the sums of its heads.
    uint64_t salt
    uint64_t group
    uint64_t file


cdef bint segment_move(char* data, uint64_t size, const SegmentPlace* before, const SegmentPlace* now) noexcept nogil
