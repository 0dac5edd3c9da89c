"""The C face of what consumers need; see `_needs.pyx`."""

from libc.stdint cimport uint32_t

from framework_jetstream.engine._state cimport ConsumerSlot, Engine, Slot
from framework_jetstream.stream._messages cimport Record


cdef bint is_of_stream(const ConsumerSlot* consumer, const Slot* slot) noexcept nogil
cdef void consumer_followed(Engine* engine, ConsumerSlot* consumer) noexcept nogil
cdef ConsumerSlot* follower_next(Slot* slot, uint32_t* at) noexcept nogil
cdef bint is_needed(Slot* slot, const Record* record) noexcept nogil
cdef bint was_worked_off(Slot* slot, const Record* record) noexcept nogil
