"""The C face of filters of consumers; see `_filters.pyx`."""

from libc.stdint cimport uint32_t

from framework.sublist._sublist cimport Interest
from framework_jetstream.engine._state cimport ConsumerSlot, Slot


cdef struct Wanting:
    # Where somebody is who looks at consumers that want a subject, one after the other.
    ConsumerSlot* consumer
    # The next one that is asked whether it does; without an index.
    Interest** found
    # By the index; NULL: there is none.
    uint32_t left
    const char* subject
    size_t length


cdef void filters_join(Slot* slot, ConsumerSlot* consumer) noexcept nogil
cdef void filters_leave(Slot* slot, ConsumerSlot* consumer) noexcept nogil
cdef Wanting wanting_of(Slot* slot, const char* subject, size_t length) noexcept nogil
cdef ConsumerSlot* wanting_next(Wanting* wanting) noexcept nogil
