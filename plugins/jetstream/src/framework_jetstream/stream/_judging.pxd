"""The C face of whether a message is stored; see `_judging.pyx`."""

from libc.stdint cimport int64_t

from framework_jetstream.stream._headers cimport PublishHeaders, Text
from framework_jetstream.stream._machine cimport Outcome, Publish, Stream


cdef int refusal_of_message(
    Stream* stream, const Publish* publish, PublishHeaders* headers, int64_t now_ns, Outcome* outcome
) noexcept nogil
cdef int refusal_of_counting(Stream* stream, const Publish* publish, PublishHeaders* headers) noexcept nogil
cdef int refusal_of_limits(Stream* stream, const Publish* publish, bint rolls_up) noexcept nogil
cdef int rollup_kind(Text value) noexcept nogil
cdef bint has_size(Stream* stream, const Publish* publish) noexcept nogil
