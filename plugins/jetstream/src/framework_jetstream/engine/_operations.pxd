"""The C face of what changes a stream beside messages; see `_operations.pyx`."""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

from framework_jetstream.engine._state cimport Command, Engine, Slot
from framework_jetstream.log._log cimport LogEntry
from framework_jetstream.stream._headers cimport Text


cdef enum Operation:
    # What an entry OP does; these numbers are in files.
    OP_CREATE = 1
    # A description in JSON.
    OP_UPDATE = 2
    # The same.
    OP_PURGE = 3
    # Sequence, how many to keep; a pattern.
    OP_DELETE = 4
    # Sequence.
    OP_EXPIRE = 5
    # What is too old at its time; for how long nothing may have come of a batch, 0: for ever.
    OP_REMOVE = 6
    # Sequences, 8 bytes each.
    OP_RESTORE = 7
    # The longest body, the last sequence; entries of an archive.
    OP_STATE = 8
    # All of a stream: its description, then as `stream/_whole.pyx` says it, in parts of their own.
    OP_SKIP = 32
    # Sequences before this one are those of messages that a mirror will not get.


cdef packed struct OperationHead:
    # The first part of an entry OP; the second is a text.
    uint16_t operation
    uint16_t flags
    uint32_t reserved
    int64_t time_ns
    uint64_t first
    uint64_t second


cdef int operation_propose(
    Engine* engine, Slot* slot, uint16_t operation, uint64_t first, uint64_t second, Text text, Command* command
) noexcept nogil
cdef int operation_of_command(Engine* engine, Slot* slot, Command* command) noexcept nogil
cdef int64_t operation_time(const LogEntry* entry) noexcept nogil
cdef void slot_expire_by_log(Engine* engine, Slot* slot) noexcept nogil
