"""CRC-32C: what C computes, for the other modules, and for tests and tools."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef extern from "_crc32c.h" nogil:
    enum: CRC32C_WAYS
    uint32_t sum_ "crc32c"(uint32_t crc, const void* source, size_t length)
    uint32_t move_ "crc32c_move"(uint64_t length)
    uint32_t joined_ "crc32c_joined"(uint32_t first, uint32_t second, uint32_t move)
    void crc32c_prepare()
    int crc32c_by_each(const uint8_t* source, size_t length, uint32_t* sums)


cdef uint32_t crc32c(uint32_t crc, const void* source, size_t length) noexcept nogil:
    return sum_(crc, source, length)


cdef uint32_t crc32c_move(uint64_t length) noexcept nogil:
    return move_(length)


cdef uint32_t crc32c_joined(uint32_t first, uint32_t second, uint32_t move) noexcept nogil:
    return joined_(first, second, move)


def checksum(const uint8_t[::1] data not None, uint32_t crc=0):
    """Return the CRC-32C of `data`, or of what `crc` is the sum of and `data` behind it."""
    return crc32c(crc, &data[0], data.shape[0]) if data.shape[0] else crc


def checksums(const uint8_t[::1] data not None):
    """Return the CRC-32C of `data` by each way that this processor has: by tables, its instruction, products without carry."""
    cdef uint32_t[CRC32C_WAYS] sums
    cdef int count = crc32c_by_each(&data[0] if data.shape[0] else NULL, data.shape[0], sums)
    return [sums[way] for way in range(count)]


def joined(first: int, second: int, length: int) -> int:
    """Return the sum of bytes whose first ones have the sum `first`, and the `length` ones behind these `second`."""
    return joined_(first, second, move_(length))


crc32c_prepare()
