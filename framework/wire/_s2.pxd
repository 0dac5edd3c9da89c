"""The S2 codec of the compiled rooms: streams, chunk by chunk; see `_s2.pyx` for what it promises."""

from libc.stdint cimport int64_t

from framework.wire._s2_tables cimport S2Encoder

cdef enum:
    S2_BLOCK_BYTES = 1048576
    # Plain bytes of a chunk, at most, that is written.
    S2_PLAIN_MAX = 4194304
    # And that is read.
    S2_CHUNK_MAX = 4893394
    # Bytes of a chunk, of any kind, that is read: a head, a CRC, and a block of S2_PLAIN_MAX that is all overhead.


cdef enum S2Level:
    S2_UNCOMPRESSED = 0
    S2_FAST = 1
    S2_BETTER = 2
    S2_BEST = 3


cdef S2Encoder* s2_encoder_new() noexcept nogil
cdef void s2_encoder_free(S2Encoder* encoder) noexcept nogil
cdef size_t s2_bound(size_t length) noexcept nogil
cdef size_t s2_encode(S2Encoder* encoder, S2Level level, const char* plain, size_t length, char* into) noexcept nogil
cdef bint s2_is_identifier(const char* chunk, size_t length) noexcept nogil
cdef int64_t s2_chunk_length(const char* at, size_t length) noexcept nogil
cdef int64_t s2_plain_length(const char* chunk, size_t length) noexcept nogil
cdef const char* s2_problem(const char* at, size_t length) noexcept nogil
cdef const char* s2_decode(const char* chunk, size_t length, char* into) noexcept nogil
cdef bint s2_decode_stream(const char* stream, size_t length, char* into, size_t plain_length) noexcept nogil
