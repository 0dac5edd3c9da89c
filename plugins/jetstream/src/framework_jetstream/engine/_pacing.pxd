"""The C face of pacing; see `_pacing.pyx`."""

from libc.stdint cimport int64_t

from framework_jetstream.engine._port cimport framework_batch, framework_message, framework_row
from framework_jetstream.engine._state cimport ConsumerSlot, Engine
from framework_jetstream.stream._messages cimport Record


cdef void pace_begin(Engine* engine, ConsumerSlot* consumer) noexcept nogil
cdef void pace_update(Engine* engine, ConsumerSlot* consumer) noexcept nogil
cdef bint pace_holds(Engine* engine, ConsumerSlot* consumer, const Record* record, int64_t size) noexcept nogil
cdef void pace_delivered(Engine* engine, ConsumerSlot* consumer, framework_message* message, int64_t stored_ns) noexcept nogil
cdef bint pause_expire(Engine* engine, ConsumerSlot* consumer) noexcept nogil
cdef void flow_ask(Engine* engine, ConsumerSlot* consumer) noexcept nogil
cdef void flow_ask_at_rest(Engine* engine, ConsumerSlot* consumer) noexcept nogil
cdef unsigned int flow_subject(char* to, ConsumerSlot* consumer) noexcept nogil
cdef unsigned int flow_write(char* to, ConsumerSlot* consumer) noexcept nogil
cdef bint flow_row(Engine* engine, ConsumerSlot* consumer, const framework_batch* batch, const framework_row* row) noexcept nogil
