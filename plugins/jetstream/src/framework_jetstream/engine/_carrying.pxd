"""The C face of carrying out commands; see `_carrying.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.engine._port cimport framework_batch, framework_row
from framework_jetstream.engine._state cimport Command, Engine, Slot


cdef int command_carry_out(Engine* engine, Command* command) noexcept nogil
cdef bint direct_get_wait(Slot* slot, const framework_batch* batch, const framework_row* row) noexcept nogil
cdef void waiting_woken(Engine* engine) noexcept nogil
cdef void waiting_run(Engine* engine, Slot* slot) noexcept nogil
