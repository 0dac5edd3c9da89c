"""The C face of direct gets; see `_direct.pyx`."""

from libc.stdint cimport uint32_t

from framework_jetstream.engine._port cimport framework_batch, framework_row
from framework_jetstream.engine._state cimport Engine, GetProgress, Slot
from framework_jetstream.stream._headers cimport Text


cdef void direct_get_row(
    Engine* engine, Slot* slot, const framework_batch* batch, const framework_row* row, GetProgress* resumed
) noexcept nogil
cdef void direct_serve(Engine* engine, Slot* slot, Text name, uint32_t place) noexcept nogil
cdef void direct_end(Engine* engine, Slot* slot, uint32_t place) noexcept nogil
cdef bint slot_may_read(const Slot* slot) noexcept nogil
