"""The C face of deliveries; see `_delivery.pyx`."""

from libc.stdint cimport int64_t

from framework_jetstream.engine._state cimport ConsumerSlot, Engine


cdef enum:
    TOKEN_NUMBER_SHIFT = 40
    # Where a token of a delivery says which consumer's it is.


cdef void deliver_ready(Engine* engine) noexcept nogil
cdef void consumer_expire(Engine* engine, ConsumerSlot* consumer) noexcept nogil
cdef void request_undeliverable(Engine* engine, int64_t token) noexcept nogil
