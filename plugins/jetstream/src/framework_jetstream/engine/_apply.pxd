"""The C face of applying entries; see `_apply.pyx`."""

from framework_jetstream.engine._state cimport Engine
from framework_jetstream.log._log cimport LogEntry


cdef bint apply_committed(Engine* engine) noexcept nogil
cdef bint entry_is_update(const LogEntry* entry) noexcept nogil
cdef void entry_apply(Engine* engine, const LogEntry* entry) noexcept nogil
