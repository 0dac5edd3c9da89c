"""Decoding of S2 blocks; see `_s2_decode.pyx`."""

from libc.stdint cimport int64_t, uint8_t

cdef int64_t block_length(const uint8_t* block, size_t length, size_t* head) noexcept nogil
cdef const char* block_decode(const uint8_t* at, const uint8_t* end, uint8_t* into, size_t length) noexcept nogil
