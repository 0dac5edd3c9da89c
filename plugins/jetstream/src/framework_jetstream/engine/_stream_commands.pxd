"""The C face of commands to streams; see `_stream_commands.pyx`."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from framework_jetstream.engine._state cimport Command, Engine, Slot, Waiting
from framework_jetstream.stream._machine cimport Limits


cdef Slot* slot_made(
    Engine* engine, uint32_t number, const char* name, size_t length, const Limits* limits, int kept, uint64_t first_seq
) noexcept nogil
cdef void slot_close(Engine* engine, Slot* slot) noexcept nogil
cdef void slot_end_old(Engine* engine, Slot* slot, int64_t now_ns, int64_t batch_timeout_ns) noexcept nogil
cdef void slot_expire(Engine* engine, Slot* slot) noexcept nogil
cdef void waiting_tell(Engine* engine, Waiting* waiting) noexcept nogil
cdef uint64_t message_get(Engine* engine, Command* command) noexcept nogil
cdef void stream_command(Engine* engine, Command* command) noexcept nogil
cdef void stream_update(Engine* engine, Slot* slot, Command* command, int64_t now_ns) noexcept nogil
cdef void stream_purged(
    Engine* engine, Slot* slot, const char* pattern, size_t length, uint64_t seq, uint64_t keep, Command* command
) noexcept nogil
cdef void stream_deleted(Engine* engine, Slot* slot, uint64_t seq, Command* command) noexcept nogil
