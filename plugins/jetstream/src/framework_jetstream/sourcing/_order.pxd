"""The C face of the order of what sources give; see `_order.pyx`."""

from framework_jetstream.sourcing._marks cimport SourceHeader
from framework_jetstream.stream._machine cimport Publish, Stream


cdef bint given_is_next(Stream* stream, const Publish* publish, const SourceHeader* source) noexcept nogil
