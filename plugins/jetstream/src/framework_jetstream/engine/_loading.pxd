"""The C face of states in segments that take the place of what a stream is; see `_loading.pyx`."""

from framework_jetstream.engine._state cimport Engine, Group, ReadJob, Slot
from framework_jetstream.log._log cimport LogEntry


cdef bint load_is_held(Engine* engine, Group* group, const LogEntry* entry) noexcept nogil
cdef void load_read(Engine* engine, ReadJob* job) noexcept nogil
cdef void load_leave(Slot* slot) noexcept nogil
