"""The C face of what a sourcing consumer delivers; see `_received.pyx`."""

from libc.stdint cimport int64_t, uint64_t

from framework_jetstream.stream._headers cimport Text


cdef struct AckReply:
    # What the reply subject of a delivered message says.
    Text consumer
    uint64_t deliveries
    uint64_t stream_seq
    uint64_t consumer_seq
    int64_t time_ns
    # When it was stored; Unix time.
    uint64_t pending
    # Messages that are still to come.


cdef bint ack_reply_read(AckReply* read, Text reply) noexcept nogil
cdef bint is_control(Text header, Text payload) noexcept nogil
cdef bint header_has_foreign(Text header, bint is_source) noexcept nogil
cdef size_t header_copy_own(char* to, Text header, bint is_source) noexcept nogil
