"""The C face of a stream's digest; see `_digesting.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.stream._machine cimport Stream
from framework_jetstream.stream._messages cimport Record


cdef void digest_message(Stream* stream, const Record* record) noexcept nogil
cdef void digest_removal(Stream* stream, uint64_t seq) noexcept nogil
cdef void digest_entry(Stream* stream, uint64_t index) noexcept nogil
