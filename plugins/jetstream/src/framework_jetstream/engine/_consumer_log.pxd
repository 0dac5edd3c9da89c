"""The C face of what the log hears of consumers; see `_consumer_log.pyx`."""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.engine._state cimport Command, ConsumerSlot, Engine
from framework_jetstream.stream._headers cimport Text


cdef void consumer_touch(Engine* engine, ConsumerSlot* consumer, uint64_t seq) noexcept nogil
cdef void consumer_change(Engine* engine, ConsumerSlot* consumer) noexcept nogil
cdef bint consumer_owe(Engine* engine, ConsumerSlot* consumer, Text reply) noexcept nogil
cdef void consumers_tell(Engine* engine) noexcept nogil
cdef void consumers_tell_all(Engine* engine) noexcept nogil
cdef void consumer_leave_log(Engine* engine, ConsumerSlot* consumer) noexcept nogil
