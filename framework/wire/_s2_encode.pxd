"""Encoding of S2 blocks; see `_s2_encode.pyx`."""

from libc.stdint cimport uint8_t

from framework.wire._s2_tables cimport S2Encoder

cdef enum:
    PLAIN_LEAST = 32
    # Fewer bytes aren't worth a search.
    SAVED_PART = 32
    # One of so many bytes must be saved.
    END_BYTES = 16
    # Where so few are left, no copy begins: whole words may be read at every place before.


cdef size_t block_end(uint8_t* into, uint8_t* to, const uint8_t* stop, const uint8_t* source, size_t length) noexcept nogil
cdef size_t encode_fast(S2Encoder* self, const uint8_t* plain, size_t length, uint8_t* into) noexcept nogil
cdef size_t encode_better(S2Encoder* self, const uint8_t* plain, size_t length, uint8_t* into) noexcept nogil
