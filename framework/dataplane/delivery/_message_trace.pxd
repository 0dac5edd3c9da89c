"""The C face of message tracing; see `_message_trace.pyx`."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from framework.dataplane._state cimport Account, Link, Message, MessageTrace, State, Subscription


cdef enum:
    NO_ACCOUNT = 0xffffffff


cdef enum StepKind:
    # As framework.dataplane.event.TraceStep has them.
    STEP_MAPPED
    STEP_STREAM
    STEP_SERVICE
    STEP_SENT


cdef enum TraceFault:
    # Why a message went no further; framework/server/message_trace.py has the texts.
    NO_FAULT
    FAULT_NO_ECHO
    FAULT_DENIED
    FAULT_ENDED
    FAULT_CLOSED
    FAULT_NO_SUPPORT
    FAULT_ONLY_NO_SUPPORT
    FAULT_PUBLISH
    FAULT_REPLY


cdef struct StepRecord:
    # One thing that was done to a message; three texts follow.
    uint64_t link
    uint64_t cid
    uint32_t kind
    uint32_t link_kind
    uint32_t account
    uint32_t fault
    uint32_t lengths[3]


cdef struct TraceRecord:
    # A traced message on its way to Python; destination, subject, header block and the refused word follow, then the steps.
    int64_t at_ns
    uint64_t cid
    uint32_t account
    uint32_t size
    uint32_t hops
    uint32_t fault
    uint32_t lengths[4]
    uint32_t step_count


cdef enum Tracing:
    UNTRACED
    TRACED
    TRACE_SKIPPED
    # The message is not to be handled at all.


cdef Tracing tracing_begin(State* state, Message* message, MessageTrace* made) noexcept nogil
cdef void tracing_end(State* state, Message* message, MessageTrace* made) noexcept nogil
cdef void tracing_refused(Message* message, TraceFault fault, const char* word, size_t length) noexcept nogil
cdef void step_mapped(Message* message) noexcept nogil
cdef void step_stream(Message* message, Account* account, const char* to, size_t length) noexcept nogil
cdef void step_service(Message* message, Account* account, Message* there) noexcept nogil
cdef bint traced_delivery(State* state, Subscription* subscription, Message* message, Subscription* reached) noexcept nogil
cdef bint traced_subscription(State* state, Subscription* subscription, Message* message) noexcept nogil
cdef bint traced_route(State* state, Link* to, Message* message) noexcept nogil
