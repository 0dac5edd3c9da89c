"""Encoding of S2 blocks; see `_s2_encode.pyx`."""

from libc.stdint cimport uint8_t, uint32_t

cdef enum:
    PLAIN_LEAST = 32
    # Fewer bytes aren't worth a search.


cdef struct S2Encoder:
    # Working memory, made when a level is first used. Entries below `base` are of earlier blocks.
    uint32_t* fast
    uint32_t base


cdef bint encoder_prepare(S2Encoder* self, int level) noexcept nogil
cdef void encoder_clear(S2Encoder* self) noexcept nogil
cdef size_t encode_fast(S2Encoder* self, const uint8_t* plain, size_t length, uint8_t* into) noexcept nogil
