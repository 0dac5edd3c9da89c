"""The C face of batches whose messages are stored as they come; see `_fast_publishing.pyx`."""

from libc.stdint cimport int64_t

from framework_jetstream.stream._headers cimport PublishHeaders
from framework_jetstream.stream._machine cimport Outcome, Publish, Stream


cdef bint is_fast(const Publish* publish) noexcept nogil
cdef void fast_publish(Stream* stream, const Publish* publish, PublishHeaders* headers, int64_t now_ns, Outcome* outcome) noexcept nogil
