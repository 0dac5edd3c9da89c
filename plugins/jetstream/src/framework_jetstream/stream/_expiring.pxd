"""The C face of messages that are too old; see `_expiring.pyx`."""

from libc.stdint cimport int64_t

from framework_jetstream.stream._machine cimport Stream


cdef int64_t stream_expire(Stream* stream, int64_t now_ns) noexcept nogil
