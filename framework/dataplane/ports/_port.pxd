"""The C face of ports; see `_port.pyx`."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from framework.dataplane._state cimport Link, Port, PortBlock, SinkBatch, State, Subscription


cdef enum:
    PORT_BIT = 63
    # Of the key of a port; no link has an id with it.


cdef enum InterestVerb:
    PORT_SUBSCRIBE = 1
    PORT_UNSUBSCRIBE
    PORT_WATCH
    PORT_UNWATCH


cdef struct PortInterest:
    # What a port says of its interest; the subject and the queue group follow.
    PortInterest* next
    int64_t tag
    int32_t verb
    uint32_t account
    uint32_t subject_length
    uint32_t queue_length


cdef struct PortMessage:
    # One record of a PortBlock; inbox, subject, reply, header, payload and CR LF follow.
    int64_t token
    uint32_t size
    # Of the record, with what fills it up to eight bytes.
    uint32_t account
    uint32_t asks
    uint32_t inbox_length
    uint32_t subject_length
    uint32_t reply_length
    uint32_t header_length
    uint32_t payload_length


cdef struct PortAnswer:
    # What a port has decided on a batch of a gate; `length` bytes of records follow.
    PortAnswer* next
    int64_t gate
    uint64_t serial
    size_t length
    uint8_t failed
    # It has let go of the batch without a verdict.


cdef void port_hear(Port* port, SinkBatch* batch) noexcept nogil
cdef void ports_listen(State* state) noexcept nogil
cdef void ports_hear_interest(State* state) noexcept nogil
cdef bint port_waits(Link* link) noexcept nogil
cdef void port_go_on(State* state, Link* link) noexcept nogil
cdef void port_attach(State* state, Port* port) noexcept nogil
cdef void port_detach(State* state, Port* port) noexcept nogil
cdef void ports_end(State* state) noexcept nogil
cdef void port_forget(State* state, Subscription* subscription) noexcept nogil
cdef void port_release(Port* port) noexcept nogil
cdef void port_unheard(State* state, uint64_t key, int64_t token) noexcept nogil
cdef void port_wake(Port* port) noexcept nogil


cdef extern from *:
    """
    #ifndef FRAMEWORK_STACKS_H
    #define FRAMEWORK_STACKS_H
    #include <stdint.h>
    #include <unistd.h>
    /* Nodes begin with the pointer to the next one. Many may push, one takes all. True: it was empty. */
    static inline int stack_push(void **head, void *node) {
        void *first = __atomic_load_n(head, __ATOMIC_RELAXED);
        do { *(void **)node = first; }
        while (!__atomic_compare_exchange_n(head, &first, node, 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
        return first == 0;
    }
    /* Take all, oldest first. */
    static inline void *stack_take(void **head) {
        void *node, *following, *oldest = 0;
        if (!__atomic_load_n(head, __ATOMIC_RELAXED)) return 0;
        for (node = __atomic_exchange_n(head, 0, __ATOMIC_SEQ_CST); node; node = following) {
            following = *(void **)node;
            *(void **)node = oldest;
            oldest = node;
        }
        return oldest;
    }
    static inline int stack_is_empty(void **head) { return __atomic_load_n(head, __ATOMIC_SEQ_CST) == 0; }
    static inline int32_t flag_get(int32_t *at) { return __atomic_load_n(at, __ATOMIC_SEQ_CST); }
    static inline int32_t flag_set(int32_t *at, int32_t value) { return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST); }
    #endif
    """
    bint stack_push(void** head, void* node) noexcept nogil
    void* stack_take(void** head) noexcept nogil
    bint stack_is_empty(void** head) noexcept nogil
    int32_t flag_get(int32_t* at) noexcept nogil
    int32_t flag_set(int32_t* at, int32_t value) noexcept nogil
