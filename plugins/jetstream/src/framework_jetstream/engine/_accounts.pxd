"""The C face of what accounts store; see `_accounts.pyx`."""

from libc.stdint cimport uint16_t, uint32_t

from framework_jetstream.engine._state cimport Account, Command, Engine, Slot
from framework_jetstream.stream._machine cimport Publish


cdef void accounts_begin(Engine* engine) noexcept nogil
cdef void accounts_free(Engine* engine) noexcept nogil
cdef void slot_count_in(Engine* engine, Slot* slot) noexcept nogil
cdef void slot_count_out(Slot* slot) noexcept nogil
cdef void limits_command(Engine* engine, Command* command) noexcept nogil
cdef void totals_command(Engine* engine, Command* command) noexcept nogil
cdef uint16_t marks_of(Engine* engine, Slot* slot, const Publish* publish) noexcept nogil
cdef void message_wait(Slot* slot, const Publish* publish) noexcept nogil
cdef void message_arrived(Slot* slot, const Publish* publish) noexcept nogil
