"""The C face of control groups; see `_control_groups.pyx`."""

from libc.stdint cimport uint32_t

from framework_jetstream.engine._state cimport Command, Engine, Group, Proposal
from framework_jetstream.log._log cimport LogEntry


cdef Group* control_made(Engine* engine, uint32_t number, uint32_t control) noexcept nogil
cdef void control_apply(Engine* engine, Group* group, const LogEntry* entry, Proposal* proposal) noexcept nogil
cdef void control_restore(Engine* engine, Group* group, const LogEntry* entry) noexcept nogil
cdef void controls_save(Engine* engine) noexcept nogil
cdef int group_command(Engine* engine, Command* command) noexcept nogil
