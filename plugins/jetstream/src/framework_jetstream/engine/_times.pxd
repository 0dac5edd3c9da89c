"""The C face of times as text; see `_times.pyx`."""

from libc.stdint cimport int64_t, uint32_t

from framework_jetstream.stream._headers cimport Text


cdef enum:
    TIME_BYTES = 40


cdef uint32_t write_time(char* to, int64_t unix_ns) noexcept nogil
cdef uint32_t write_duration(char* to, int64_t duration_ns) noexcept nogil
cdef bint ns_of_text(Text text, int64_t* unix_ns) noexcept nogil
