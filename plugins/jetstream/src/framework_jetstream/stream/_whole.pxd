"""The C face of a stream written as a whole; see `_whole.pyx`."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from framework_jetstream.stream._machine cimport Stream


cdef packed struct WholeMessage:
    # Subject, header and payload follow.
    uint64_t seq
    int64_t time_ns
    uint32_t header_length
    uint32_t subject_length


cdef size_t whole_size(const Stream* stream) noexcept nogil
cdef void whole_write(const Stream* stream, char* to) noexcept nogil
cdef void whole_begin(Stream* stream) noexcept nogil
cdef bint whole_read(Stream* stream, const char* source, size_t length) noexcept nogil
cdef bint whole_read_message(Stream* stream, const char* source, size_t length) noexcept nogil
cdef bint whole_add(
    Stream* stream, uint64_t seq, int64_t time_ns, const char* subject, uint32_t subject_length, const char* header, uint32_t header_length,
    uint64_t payload_length,
) noexcept nogil
cdef void whole_end(Stream* stream, const char* source) noexcept nogil
