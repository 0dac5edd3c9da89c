"""The C face of what saves messages and brings them back; see `_saving.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.store._segment cimport SegmentReader, SegmentWriter
from framework_jetstream.stream._messages cimport Messages


cdef void messages_save(Messages* messages, SegmentWriter* writer, uint64_t after) noexcept nogil
cdef bint messages_load(Messages* messages, SegmentReader* reader, const SegmentReader* last) noexcept nogil
