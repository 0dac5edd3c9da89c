"""The C face of groups of several servers; see `_replicated.pyx`."""

from framework_jetstream.engine._state cimport Command, ConsumerSlot, Engine, Group, Slot


cdef enum:
    REPLICAS_AT = 4
    # In a command that opens: number of the group at all servers, 0: it is this one's alone; how many servers have it; who.
    MAY_HAVE_BEEN = 256
    # More of them: this server may have had it, in a store that is lost.


cdef bint slot_compares(Slot* slot) noexcept nogil
cdef bint replicated_join(Engine* engine, Group* group, const Command* command) noexcept nogil
cdef int replicated_stream_open(Engine* engine, Slot* slot, Command* command) noexcept nogil
cdef int replicated_consumer_open(Engine* engine, ConsumerSlot* consumer, Command* command) noexcept nogil
cdef void consumer_follows(Engine* engine, ConsumerSlot* consumer) noexcept nogil
cdef int replicated_consumer_command(Engine* engine, ConsumerSlot* consumer, Command* command) noexcept nogil
cdef void replicated_hear(Engine* engine) noexcept nogil
cdef void replicated_settle(Engine* engine, bint is_applied) noexcept nogil
cdef void group_follow(Engine* engine, Group* group) noexcept nogil
cdef void replicated_speak(Engine* engine) noexcept nogil
