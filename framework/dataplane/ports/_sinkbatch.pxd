"""The C face of sinks; see `_sinkbatch.pyx`."""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t

from framework.dataplane._state cimport Message, Sink, SinkBatch, State, framework_row


cdef bint sink_put(State* state, Sink* sink, Message* message, int64_t tag) noexcept nogil
cdef void sink_put_run(
    State* state, Sink* sink, Message* message, int64_t tag, const char* body, size_t frame, size_t count
) noexcept nogil
cdef void sink_say(State* state, Sink* sink, int64_t tag, uint16_t kind, uint16_t word) noexcept nogil
cdef bint sink_gathers(State* state, Sink* sink) noexcept nogil
cdef void sink_flush(State* state, Sink* sink) noexcept nogil
cdef void sink_release(Sink* sink) noexcept nogil
cdef bint sink_stalls(Sink* sink) noexcept nogil
cdef int64_t row_arrived(SinkBatch* batch, framework_row* row) noexcept nogil
cdef object batch_made(SinkBatch* batch)
cdef SinkBatch* batch_of(object batch) except NULL
cdef void batch_free(SinkBatch* batch) noexcept nogil


cdef extern from *:
    """
    #ifndef FRAMEWORK_ATOMIC_H
    #define FRAMEWORK_ATOMIC_H
    #include <stdint.h>
    static inline int64_t atomic_add(int64_t *at, int64_t value) { return __atomic_add_fetch(at, value, __ATOMIC_ACQ_REL); }
    static inline int64_t atomic_get(int64_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
    static inline void publish_pointer(void **at, void *value) { __atomic_store_n(at, value, __ATOMIC_RELEASE); }
    static inline void *seen_pointer(void **at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
    static inline void *swap_pointer(void **at, void *value) { return __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL); }
    static inline int32_t atomic_add_users(int32_t *at, int32_t value) { return __atomic_add_fetch(at, value, __ATOMIC_ACQ_REL); }
    #endif
    """
    int64_t atomic_add(int64_t* at, int64_t value) noexcept nogil
    int64_t atomic_get(int64_t* at) noexcept nogil
    void publish_pointer(void** at, void* value) noexcept nogil
    void* seen_pointer(void** at) noexcept nogil
    void* swap_pointer(void** at, void* value) noexcept nogil
    int32_t atomic_add_users(int32_t* at, int32_t value) noexcept nogil
