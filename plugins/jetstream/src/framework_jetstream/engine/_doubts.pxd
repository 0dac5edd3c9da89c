"""The C face of doubts; see `_doubts.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.engine._state cimport Command, Engine, Slot


cdef bint doubts_add(Slot* slot, uint64_t seq) noexcept nogil
cdef bint doubts_review(Slot* slot, uint64_t begin, uint64_t end) noexcept nogil
cdef void doubts_drop(Slot* slot) noexcept nogil
cdef void doubts_free(Engine* engine, Slot* slot) noexcept nogil
cdef int doubts_answered(Engine* engine, Command* command) noexcept nogil
cdef void doubts_turn(Engine* engine) noexcept nogil
