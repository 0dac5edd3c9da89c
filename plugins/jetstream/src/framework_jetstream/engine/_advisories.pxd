"""The C face of advisories that the engine says itself; see `_advisories.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.engine._state cimport ConsumerSlot, Engine, Slot
from framework_jetstream.stream._headers cimport Text


cdef struct Acked:
    # What an acknowledgement is about, as its subject says.
    uint64_t deliveries
    uint64_t seq
    uint64_t consumer_seq


cdef void advise_abandoned(Engine* engine, Slot* slot, Text batch, int reason) noexcept nogil
cdef void advise_nak(Engine* engine, ConsumerSlot* consumer, const Acked* acked) noexcept nogil
cdef void advise_term(Engine* engine, ConsumerSlot* consumer, const Acked* acked, Text reason) noexcept nogil
cdef void advise_gave_up(Engine* engine, ConsumerSlot* consumer, uint64_t seq, uint64_t deliveries) noexcept nogil
cdef void advise_ack(Engine* engine, ConsumerSlot* consumer, const Acked* acked) noexcept nogil
