"""The C face of entries that are compressed; see `_compressing.pyx`."""

from framework_jetstream.engine._message_entries cimport CompressedHead
from framework_jetstream.engine._state cimport Engine, Slot
from framework_jetstream.log._log cimport LogEntry, LogPart


cdef struct CompressedBatch:
    CompressedHead head
    LogPart[2] parts
    # The first one is this head: it must not move.


cdef bint batch_compress(Engine* engine, Slot* slot, CompressedBatch* into) noexcept nogil
cdef bint batch_read(Engine* engine, const LogEntry* entry, LogEntry* plain) noexcept nogil
cdef void compressing_free(Engine* engine) noexcept nogil
