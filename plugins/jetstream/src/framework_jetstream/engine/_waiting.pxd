"""The C face of requests that wait; see `_waiting.pyx`."""

from libc.stdint cimport int64_t, uint64_t

from framework_jetstream.engine._state cimport ConsumerSlot, Engine, Request


cdef int64_t watch_tag(ConsumerSlot* consumer, uint64_t id) noexcept nogil
cdef void request_add(ConsumerSlot* consumer, Request* request) noexcept nogil
cdef void request_end(Engine* engine, ConsumerSlot* consumer, Request* request) noexcept nogil
cdef void consumer_unrequest(Engine* engine, ConsumerSlot* consumer, uint64_t id) noexcept nogil
cdef Request* request_next(Engine* engine, ConsumerSlot* consumer, int64_t size) noexcept nogil
cdef void requests_leave(Engine* engine) noexcept nogil
cdef bint request_served(Engine* engine, ConsumerSlot* consumer, Request* request) noexcept nogil
cdef void pin_extend(Engine* engine, ConsumerSlot* consumer) noexcept nogil
cdef void pin_forget(Engine* engine, ConsumerSlot* consumer) noexcept nogil
cdef int64_t pin_expire(Engine* engine, ConsumerSlot* consumer) noexcept nogil
