"""The C face of direct gets; see `_direct.pyx`."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from framework_jetstream.engine._port cimport framework_batch, framework_row
from framework_jetstream.engine._state cimport Engine, Slot
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._messages cimport Messages


cdef void direct_get_row(Engine* engine, Slot* slot, const framework_batch* batch, const framework_row* row) noexcept nogil
cdef void direct_serve(Engine* engine, Slot* slot, Text name, uint32_t place) noexcept nogil
cdef void direct_end(Engine* engine, Slot* slot, uint32_t place) noexcept nogil
cdef uint64_t seq_from(Messages* messages, int64_t time_ns) noexcept nogil
