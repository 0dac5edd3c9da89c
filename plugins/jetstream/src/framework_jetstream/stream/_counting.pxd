"""The C face of counters; see `_counting.pyx`."""

from framework_jetstream.stream._headers cimport PublishHeaders, Text
from framework_jetstream.stream._machine cimport Publish, Stream


cdef int count_up(Stream* stream, Publish* message, PublishHeaders* headers, Text* value) noexcept nogil
cdef bint counter_value(Text payload, Text* value) noexcept nogil
cdef int counter_text(Stream* stream, Text subject, Text* value, Text* sources) noexcept nogil
cdef int write_counter(Stream* stream, Publish* message, PublishHeaders* headers, Text before, Text sources, Text* value) noexcept nogil
