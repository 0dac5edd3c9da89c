"""The C face of direct gets; see `_direct.pyx`."""

from framework_jetstream.engine._port cimport framework_batch, framework_row
from framework_jetstream.engine._state cimport Engine, Slot


cdef void direct_get_row(Engine* engine, Slot* slot, const framework_batch* batch, const framework_row* row) noexcept nogil
