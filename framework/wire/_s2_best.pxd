"""Encoding of S2 blocks with all care; see `_s2_best.pyx`."""

from libc.stdint cimport uint8_t

from framework.wire._s2_tables cimport S2Encoder

cdef size_t encode_best(S2Encoder* self, const uint8_t* plain, size_t length, uint8_t* into) noexcept nogil
