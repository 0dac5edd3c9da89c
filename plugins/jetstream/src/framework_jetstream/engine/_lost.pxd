"""The C face of what damage has taken; see `_lost.pyx`."""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.engine._state cimport Engine, Slot
from framework_jetstream.log._log cimport LogEntry


cdef bint part_is_good(const LogEntry* entry, uint32_t part, const char* chars) noexcept nogil
cdef void lose_range(Engine* engine, Slot* slot, uint64_t first, uint64_t last) noexcept nogil
cdef void lose_next(Engine* engine, Slot* slot, uint64_t count) noexcept nogil
cdef void lose_entries_before(Engine* engine, Slot* slot, const LogEntry* entry) noexcept nogil
cdef void lose_rest(Engine* engine, Slot* slot) noexcept nogil
