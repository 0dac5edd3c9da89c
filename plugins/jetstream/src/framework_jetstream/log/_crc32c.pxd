from libc.stdint cimport uint32_t

# Go on with a sum over `length` bytes; 0 begins one.
cdef uint32_t crc32c(uint32_t crc, const void* source, size_t length) noexcept nogil
