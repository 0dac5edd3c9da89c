"""The C face of batches that are stored together; see `_batch_publishing.pyx`."""

from libc.stdint cimport int64_t

from framework_jetstream.stream._headers cimport PublishHeaders, Text
from framework_jetstream.stream._machine cimport Outcome, Publish, Stream


cdef bint needs_more(Stream* stream, Text level) noexcept nogil
cdef void batch_publish(
    Stream* stream, const Publish* publish, PublishHeaders* headers, int64_t now_ns, Outcome* outcome
) noexcept nogil
