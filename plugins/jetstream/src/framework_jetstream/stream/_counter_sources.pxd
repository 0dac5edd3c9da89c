"""The C face of counters that come from other streams; see `_counter_sources.pyx`."""

from framework_jetstream.stream._headers cimport PublishHeaders, Text
from framework_jetstream.stream._machine cimport Publish, Stream


cdef int count_sourced(
    Stream* stream, Publish* message, PublishHeaders* headers, Text before, Text sources, Text* value
) noexcept nogil
