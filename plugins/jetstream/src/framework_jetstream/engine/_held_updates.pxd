"""The C face of entries that wait for what their description means; see `_held_updates.pyx`."""

from libc.stdint cimport int64_t, uint64_t

from framework_jetstream.engine._state cimport Command, Engine, Group, Slot
from framework_jetstream.log._log cimport LogEntry
from framework_jetstream.stream._headers cimport Text


cdef bint state_is_update(Engine* engine, const LogEntry* entry, Text* description) noexcept nogil
cdef bint update_is_held(Engine* engine, Group* group, const LogEntry* entry) noexcept nogil
cdef int update_prepare(Engine* engine, Slot* slot, Command* command) noexcept nogil
cdef void update_followed(Slot* slot, uint64_t index, int64_t time_ns) noexcept nogil
cdef void opened_is(Slot* slot, Command* command) noexcept nogil
