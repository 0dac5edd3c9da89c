"""The C face of latency samples; see `_latency.pyx`."""

from libc.stdint cimport int64_t, uint32_t

from framework.dataplane._state cimport Import, Link, Message, ResponseMapping, State


cdef struct SampleRecord:
    # A sample on its way to Python; the requestor's JSON, the responder's, the header block and the reply subject follow.
    int64_t started_ns
    int64_t ended_ns
    int64_t requestor_rtt_ns
    int64_t responder_rtt_ns
    uint32_t status
    uint32_t requestor_length
    uint32_t responder_length
    uint32_t header_length
    uint32_t reply_length


cdef size_t sample_info(State* state, Link* link, bint full, char** info) noexcept nogil
cdef int sample_wanted(State* state, Import* imported, Message* message) noexcept nogil
cdef void sample_begin(State* state, ResponseMapping* answer, Import* imported, Message* message, bint with_header) noexcept nogil
cdef void sample_answered(State* state, ResponseMapping* answer, Message* message) noexcept nogil
cdef void sample_failed(State* state, ResponseMapping* answer, int ending) noexcept nogil
cdef void sample_refused(State* state, Import* imported, Message* message, bint with_header) noexcept nogil
cdef bint traceparent_asks(const char* value, size_t length) noexcept nogil
