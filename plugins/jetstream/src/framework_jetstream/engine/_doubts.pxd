"""The C face of doubts; see `_doubts.pyx`."""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.engine._state cimport Command, ConsumerSlot, Engine, Slot
from framework_jetstream.stream._messages cimport Record


cdef void consumer_followed(Engine* engine, ConsumerSlot* consumer) noexcept nogil
cdef ConsumerSlot* follower_next(Slot* slot, uint32_t* at) noexcept nogil
cdef bint is_needed(Slot* slot, const Record* record) noexcept nogil
cdef bint doubts_add(Slot* slot, uint64_t seq) noexcept nogil
cdef bint doubts_review(Slot* slot, uint64_t begin, uint64_t end) noexcept nogil
cdef void doubts_drop(Slot* slot) noexcept nogil
cdef void doubts_free(Engine* engine, Slot* slot) noexcept nogil
cdef int doubts_answered(Engine* engine, Command* command) noexcept nogil
cdef void doubts_turn(Engine* engine) noexcept nogil
