"""The C face of statuses; see `_statuses.pyx`."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from framework_jetstream.engine._port cimport framework_message
from framework_jetstream.engine._state cimport ConsumerSlot, Engine, Request
from framework_jetstream.stream._headers cimport Text


cdef enum:
    STATUS_BYTES = 1000
    # Of a header block with a status, and with a subject at most as long as those of flow control.


cdef char* status_begun(
    Engine* engine, ConsumerSlot* consumer, const char* to, uint32_t length, framework_message** message
) noexcept nogil
cdef uint32_t write_status(char* to, const char* status, uint32_t length) noexcept nogil
cdef uint32_t write_number(char* to, const char* name, uint32_t length, uint64_t value) noexcept nogil
cdef void status_end(framework_message* message, char* chars, uint32_t used) noexcept nogil
cdef void request_refuse(Engine* engine, ConsumerSlot* consumer, Text reply, const char* status, uint32_t length) noexcept nogil
cdef void request_close(Engine* engine, ConsumerSlot* consumer, Request* request, const char* status, uint32_t length) noexcept nogil
