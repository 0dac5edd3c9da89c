"""The C face of deflate; see `_deflate.pyx`."""

from libc.stdint cimport int64_t, uint32_t, uint8_t


cdef struct ZStream:
    # As zlib.h has it since version 1.0.
    const uint8_t* next_in
    uint32_t avail_in
    unsigned long total_in
    uint8_t* next_out
    uint32_t avail_out
    unsigned long total_out
    const char* msg
    void* state
    void* zalloc
    void* zfree
    void* opaque
    int data_type
    unsigned long adler
    unsigned long reserved


cdef struct Deflate:
    # zlib's functions, and streams that all links of a plane share.
    int (*inflate_init)(ZStream* stream, int window_bits, const char* version, int size) noexcept nogil
    int (*inflate)(ZStream* stream, int flush) noexcept nogil
    int (*inflate_reset)(ZStream* stream) noexcept nogil
    int (*inflate_end)(ZStream* stream) noexcept nogil
    int (*deflate_init)(
        ZStream* stream, int level, int method, int window_bits, int memory, int strategy, const char* version, int size
    ) noexcept nogil
    int (*deflate)(ZStream* stream, int flush) noexcept nogil
    int (*deflate_reset)(ZStream* stream) noexcept nogil
    int (*deflate_end)(ZStream* stream) noexcept nogil
    ZStream* spare
    # Of who inflates next.
    ZStream* deflater


cdef Deflate* deflate_new(void** functions) noexcept nogil
cdef void deflate_free(Deflate* deflate) noexcept nogil
cdef ZStream* inflater_take(Deflate* deflate) noexcept nogil
cdef void inflater_give(Deflate* deflate, ZStream* stream) noexcept nogil
cdef int64_t inflate_some(Deflate* deflate, ZStream* stream, const char** at, size_t count, char* into, size_t room) noexcept nogil
cdef int64_t deflate_all(Deflate* deflate, const char* plain, size_t length, char* into, size_t room) noexcept nogil
