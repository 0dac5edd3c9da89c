"""The C face of halves of samples; see `_halves.pyx`."""

from libc.stdint cimport int64_t, uint32_t

from framework.dataplane._state cimport Message, State


cdef struct HalfRecord:
    # A half on its way to Python; the reply subject and the responder's JSON follow.
    int64_t started_ns
    int64_t ended_ns
    int64_t responder_rtt_ns
    uint32_t reply_length
    uint32_t responder_length


cdef bint is_tracked_reply(const char* reply, size_t length) noexcept nogil
cdef void half_begin(State* state, Message* message) noexcept nogil
cdef void half_end(State* state, Message* message) noexcept nogil
cdef void halves_free(State* state) noexcept nogil
