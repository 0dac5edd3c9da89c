"""The C face of subjects of consumers; see `_consumer_subjects.pyx`."""

from libc.stdint cimport uint32_t

from framework_jetstream.engine._state cimport ConsumerSlot, Engine


cdef enum:
    SCOPED_ACKS = 1
    # Part of the tag of subjects with domain and account.


cdef uint32_t ack_prefix_length(ConsumerSlot* consumer, bint is_scoped) noexcept nogil
cdef void consumer_follow(Engine* engine, ConsumerSlot* consumer) noexcept nogil
cdef void consumer_unfollow(Engine* engine, ConsumerSlot* consumer) noexcept nogil
cdef void deliver_watch(Engine* engine, ConsumerSlot* consumer) noexcept nogil
cdef void deliver_unwatch(Engine* engine, ConsumerSlot* consumer) noexcept nogil
