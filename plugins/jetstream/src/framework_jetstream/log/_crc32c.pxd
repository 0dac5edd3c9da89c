from libc.stdint cimport uint32_t, uint64_t

# Go on with a sum over `length` bytes; 0 begins one.
cdef uint32_t crc32c(uint32_t crc, const void* source, size_t length) noexcept nogil

# What joins a sum with that of `length` bytes behind it: costs some hundred ns, and may be kept for others of this length.
cdef uint32_t crc32c_move(uint64_t length) noexcept nogil
cdef uint32_t crc32c_joined(uint32_t first, uint32_t second, uint32_t move) noexcept nogil
