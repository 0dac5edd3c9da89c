"""CRC-32C, the checksum of all files of this plugin."""

from libc.stdint cimport uint8_t, uint32_t

cdef extern from "_crc32c.h" nogil:
    uint32_t sum_ "crc32c"(uint32_t crc, const void* source, size_t length)
    void crc32c_prepare()
    uint32_t crc32c_by_tables(uint32_t crc, const uint8_t* source, size_t length)


cdef uint32_t crc32c(uint32_t crc, const void* source, size_t length) noexcept nogil:
    return sum_(crc, source, length)


def checksum(const uint8_t[::1] data not None, uint32_t crc=0):
    """Return the CRC-32C of `data`, or of what `crc` is the sum of and `data` behind it."""
    return crc32c(crc, &data[0], data.shape[0]) if data.shape[0] else crc


def checksum_by_tables(const uint8_t[::1] data not None):
    """Return the same as `checksum`, as processors without the instruction compute it."""
    return ~crc32c_by_tables(0xFFFFFFFF, &data[0], data.shape[0]) & 0xFFFFFFFF if data.shape[0] else 0


crc32c_prepare()
