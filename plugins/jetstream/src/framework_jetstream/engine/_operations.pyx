"""What changes a stream in files beside messages: proposed as entries OP, carried out when they are applied.

A stream that is read again must decide as it did, so nothing that decisions look at changes between entries: not even by the clock.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy, memset

from framework_jetstream.engine._groups cimport CARRIED_BUSY, CARRIED_KEPT, group_leads, group_propose, refused_as
from framework_jetstream.engine._staging cimport slot_propose
from framework_jetstream.engine._state cimport PURGE, UPDATE_STREAM, command_text
from framework_jetstream.engine._stream_commands cimport slot_expire
from framework_jetstream.log._log cimport LogPart
from framework_jetstream.log._record cimport OP


cdef int operation_propose(
    Engine* engine, Slot* slot, uint16_t operation, uint64_t first, uint64_t second, Text text, Command* command
) noexcept nogil:
    """Propose to change a stream, behind the messages that came before; a `Carried`.

    Args:
        command: Is answered, and freed, when the entry is applied; NULL: nobody asked.
    """
    cdef OperationHead head
    cdef LogPart[2] parts
    if not slot_propose(engine, slot):
        return CARRIED_BUSY
    memset(&head, 0, sizeof(head))
    memset(parts, 0, sizeof(parts))
    head.operation = operation
    head.time_ns = engine.unix_ns
    head.first = first
    head.second = second
    parts[0].chars = <const char*> &head
    parts[0].length = sizeof(head)
    parts[1].chars = text.chars
    parts[1].length = text.length
    if group_propose(engine, slot.group, OP, parts, 2, command, NULL, 0):
        return CARRIED_KEPT
    return refused_as(engine, command) if command != NULL else CARRIED_BUSY


cdef int operation_of_command(Engine* engine, Slot* slot, Command* command) noexcept nogil:
    """Propose what a command asks; a `Carried`."""
    cdef Text text
    cdef uint16_t operation
    if command.verb == UPDATE_STREAM:
        text.chars = command_text(command, 2)
        text.length = <uint32_t> command.lengths[2]
        return operation_propose(engine, slot, OP_UPDATE, 0, 0, text, command)
    operation = OP_PURGE if command.verb == PURGE else OP_DELETE
    text.chars = command_text(command, 0)
    text.length = <uint32_t> command.lengths[0]
    return operation_propose(engine, slot, operation, <uint64_t> command.numbers[0], <uint64_t> command.numbers[1], text, command)


cdef int64_t operation_time(const LogEntry* entry) noexcept nogil:
    """Return the time of an entry OP of a stream."""
    cdef OperationHead head
    memcpy(&head, entry.chars, sizeof(head))
    return head.time_ns


cdef void slot_expire_by_log(Engine* engine, Slot* slot) noexcept nogil:
    """Propose to remove what is too old, when it is time for that, and wake up for what will be."""
    cdef Text none
    none.chars = NULL
    none.length = 0
    slot_expire(engine, slot)
    if slot.expires_ns > engine.unix_ns:
        return
    if not slot.is_expiring and group_leads(slot.group) and operation_propose(
        engine, slot, OP_EXPIRE, <uint64_t> engine.batch_terms.timeout_ns, 0, none, NULL
    ) == CARRIED_KEPT:
        slot.is_expiring = 1
    slot.expired_ns = engine.unix_ns
    slot_expire(engine, slot)
