"""The C face of remote latencies; see `_remote_latency.pyx`."""

from libc.stdint cimport int64_t, uint32_t

from framework.dataplane._state cimport Message, State


cdef struct RemoteLatencyRecord:
    # A remote latency on its way to Python; the reply subject and the responder's JSON follow.
    int64_t started_ns
    int64_t ended_ns
    int64_t responder_rtt_ns
    uint32_t reply_length
    uint32_t responder_length


cdef bint is_tracked_reply(const char* reply, size_t length) noexcept nogil
cdef void remote_latency_begin(State* state, Message* message) noexcept nogil
cdef void remote_latency_end(State* state, Message* message) noexcept nogil
cdef void remote_latencies_free(State* state) noexcept nogil
