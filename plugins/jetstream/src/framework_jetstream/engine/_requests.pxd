"""The C face of what clients say to consumers; see `_requests.pyx`."""

from framework_jetstream.engine._port cimport framework_batch, framework_row
from framework_jetstream.engine._state cimport ConsumerSlot, Engine


cdef void next_row(Engine* engine, ConsumerSlot* consumer, const framework_batch* batch, const framework_row* row) noexcept nogil
cdef void ack_row(Engine* engine, ConsumerSlot* consumer, const framework_batch* batch, const framework_row* row) noexcept nogil
