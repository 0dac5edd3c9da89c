"""The C face of what entries of several servers have led to; see `_replica_states.pyx`."""

from framework_jetstream.engine._state cimport ConsumerSlot, Engine, Group, Slot
from framework_jetstream.log._log cimport LogEntry
from framework_jetstream.stream._headers cimport Text


cdef char* stream_state(Slot* slot, const char* description, size_t description_bytes, size_t* length) noexcept nogil
cdef bint state_description(const LogEntry* entry, Text* description) noexcept nogil
cdef bint stream_is_small(const Engine* engine, const Slot* slot) noexcept nogil
cdef bint stream_is_kept(Engine* engine, Slot* slot) noexcept nogil
cdef void consumers_follow(Engine* engine, Slot* slot) noexcept nogil
cdef bint consumer_is_kept(Engine* engine, ConsumerSlot* consumer) noexcept nogil
cdef void replica_restore(Engine* engine, Group* group, const LogEntry* entry) noexcept nogil
cdef void consumer_reads(Engine* engine, ConsumerSlot* consumer) noexcept nogil
