"""The C face of commands to consumers; see `_consumer_commands.pyx`."""

from libc.stdint cimport int64_t, uint32_t

from framework_jetstream.engine._state cimport Answer, Command, ConsumerSlot, Engine, Slot
from framework_jetstream.stream._machine cimport Stream
from framework_jetstream.stream._messages cimport Record


cdef ConsumerSlot* consumer_made(Engine* engine, uint32_t number) noexcept nogil
cdef void consumer_forget(Engine* engine, ConsumerSlot* consumer) noexcept nogil
cdef int consumer_command(Engine* engine, Command* command) noexcept nogil
cdef void consumer_begin(Engine* engine, Slot* slot, ConsumerSlot* consumer, Command* command) noexcept nogil
cdef void consumer_expect(Engine* engine, ConsumerSlot* consumer) noexcept nogil
cdef void consumer_update(Engine* engine, ConsumerSlot* consumer, Command* command) noexcept nogil
cdef void consumers_late_begin(Engine* engine, Slot* slot) noexcept nogil
cdef void consumers_restored(Slot* slot) noexcept nogil
cdef void consumer_tell_waiting(Engine* engine, ConsumerSlot* consumer, const char* status, uint32_t length) noexcept nogil
cdef Answer* consumer_say(Engine* engine, ConsumerSlot* consumer, int64_t id) noexcept nogil
cdef void consumer_close(Engine* engine, ConsumerSlot* consumer) noexcept nogil
cdef void consumers_appended(Stream* stream, const Record* record) noexcept nogil
cdef void consumers_purged(Slot* slot) noexcept nogil
cdef void consumers_removing(Stream* stream, const Record* record) noexcept nogil
