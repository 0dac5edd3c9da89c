"""CRC-32C (Castagnoli), the checksum of S2 streams and of all files.

Source: RFC 3720 B.4 (polynomial); Snappy framing format, 3 (mask).
"""

from libc.stdint cimport uint32_t, uint64_t

# Go on with a sum over `length` bytes; 0 begins one.
cdef uint32_t crc32c(uint32_t crc, const void* source, size_t length) noexcept nogil

# What joins a sum with that of `length` bytes behind it: costs some hundred ns, and may be kept for others of this length.
cdef uint32_t crc32c_move(uint64_t length) noexcept nogil
cdef uint32_t crc32c_joined(uint32_t first, uint32_t second, uint32_t move) noexcept nogil


cdef inline uint32_t masked(uint32_t crc) noexcept nogil:
    """The form in which a CRC is sent, so that data with CRCs in it has no CRC that is always the same."""
    return (crc >> 15 | crc << 17) + <uint32_t> 0xa282ead8
