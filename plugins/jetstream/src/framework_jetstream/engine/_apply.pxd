"""The C face of applying entries; see `_apply.pyx`."""

from framework_jetstream.engine._state cimport Engine
from framework_jetstream.log._log cimport LogEntry
from framework_jetstream.stream._headers cimport Text


cdef bint apply_committed(Engine* engine) noexcept nogil
cdef bint entry_is_update(const LogEntry* entry, Text* description) noexcept nogil
cdef void entry_apply(Engine* engine, const LogEntry* entry) noexcept nogil
