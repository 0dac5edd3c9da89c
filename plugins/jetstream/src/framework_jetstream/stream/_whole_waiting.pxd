"""The C face of what waits in a stream, as it is written; see `_whole_waiting.pyx`."""

from framework_jetstream.stream._machine cimport Stream


cdef size_t waiting_size(const Stream* stream) noexcept nogil
cdef void waiting_write(const Stream* stream, char* to) noexcept nogil
cdef bint waiting_read(Stream* stream, const char* at, const char* end) noexcept nogil
