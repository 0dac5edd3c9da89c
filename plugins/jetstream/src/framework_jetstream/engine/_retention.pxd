"""The C face of retention; see `_retention.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.engine._state cimport ConsumerSlot, Engine, Slot
from framework_jetstream.stream._machine cimport Stream


cdef bint retention_ack(Engine* engine, ConsumerSlot* consumer, uint64_t seq) noexcept nogil
cdef void retention_delivered(Engine* engine, ConsumerSlot* consumer, uint64_t seq) noexcept nogil
cdef void retention_fence(Engine* engine) noexcept nogil
cdef void retention_sweep(Engine* engine) noexcept nogil
cdef void retention_review(Slot* slot, uint64_t seq) noexcept nogil
cdef void retention_stored(Slot* slot, uint64_t seq) noexcept nogil
cdef void removal_add(Slot* slot, uint64_t seq) noexcept nogil
cdef void removals_propose(Engine* engine) noexcept nogil
cdef void removals_forget(Engine* engine, Slot* slot) noexcept nogil
cdef void retention_told(Engine* engine, ConsumerSlot* consumer, uint64_t floor_seq, const char* state) noexcept nogil
cdef bint retention_wants(Stream* stream, const char* subject, size_t length) noexcept nogil
