"""The C face of streams and consumers that other servers are to have too; see `_sharing.pyx`."""

from framework_jetstream.engine._state cimport Command, ConsumerSlot, Engine, Slot


cdef int stream_share(Engine* engine, Slot* slot, Command* command) noexcept nogil
cdef int consumer_share(Engine* engine, ConsumerSlot* consumer, Command* command) noexcept nogil
cdef void shares_turn(Engine* engine) noexcept nogil
