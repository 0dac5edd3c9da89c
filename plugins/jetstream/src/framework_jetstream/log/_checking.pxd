"""The C face of comparing a file of the log with its sums; see `_checking.pyx`."""

from libc.stdint cimport uint64_t


cdef bint file_heads_are_good(const char* source, uint64_t file) noexcept nogil
cdef uint64_t round_length(const char* source, uint64_t room, uint64_t salt, uint64_t file, uint64_t offset) noexcept nogil
cdef bint round_is_whole(const char* source, uint64_t salt, uint64_t file, uint64_t offset) noexcept nogil
