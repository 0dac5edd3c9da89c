"""Entries that describe a stream of several servers anew: who has not proposed one has to ask Python what it means.

A description is JSON, which the engine does not read. Where a stream is led, limits and subjects come with the command that proposes it.
Everywhere else its entry, or the snapshot that has it, is given back, and the group stands still until Python has answered: so all
servers change limits at the same place among messages.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcmp, memcpy

from framework_jetstream.engine._answers cimport answer_bytes, answer_made
from framework_jetstream.engine._apply cimport entry_is_update
from framework_jetstream.engine._groups cimport CARRIED_KEPT, CARRIED_OUT, STATUS_NOT_THERE, group_describe, group_of
from framework_jetstream.engine._replica_states cimport state_description
from framework_jetstream.engine._state cimport EVENT_UPDATE, STREAM_EVENTS_SHIFT, Answer, command_free, command_text
from framework_jetstream.log._record cimport SNAPSHOT
from framework_jetstream.replication._replicas cimport replica_go_on, replica_hold
from framework_jetstream.stream._machine cimport stream_set_limits


cdef bint _is_as_said(const Group* group, const Text* description) noexcept nogil:
    return description.length == group.description_bytes and memcmp(description.chars, group.description, description.length) == 0


cdef bint state_is_update(Engine* engine, const LogEntry* entry, Text* description) noexcept nogil:
    """Whether a snapshot of a stream describes it otherwise than it is here."""
    cdef Group* group = group_of(engine, entry.group) if entry.kind == SNAPSHOT else NULL
    if group == NULL or group.slot == NULL or group.replica == NULL or not state_description(entry, description):
        return False
    return not _is_as_said(group, description)


cdef void _ask(Engine* engine, Slot* slot, const LogEntry* entry, const Text* description) noexcept nogil:
    cdef Answer* told = answer_made(engine, -((<int64_t> 1 << STREAM_EVENTS_SHIFT) + slot.number), EVENT_UPDATE, description.length)
    if told != NULL:
        told.numbers[0] = <int64_t> entry.index
        memcpy(answer_bytes(told), description.chars, description.length)


cdef bint update_is_held(Engine* engine, Group* group, const LogEntry* entry) noexcept nogil:
    """Hold an entry that nobody has said the meaning of, and ask for it; False: it can be applied."""
    cdef Text description
    if engine.is_replaying or group.replica == NULL or group.slot == NULL:
        return False
    if entry.kind == SNAPSHOT:
        if not state_is_update(engine, entry, &description):
            return False
    elif not entry_is_update(entry, &description):
        return False
    elif not group.is_created and _is_as_said(group, &description):
        # It is the first entry, and says what this server was told as well.
        return False
    elif group.first != NULL and group.first.index == entry.index and group.first.term == entry.term and group.first.command != NULL:
        return False
    if group.prepared != NULL and group.prepared_at == entry.index:
        return False
    replica_hold(group.replica, entry)
    if group.slot.opened != NULL:
        # Nobody listens before; when it is opened the entry is given again.
        _ask(engine, group.slot, entry, &description)
    return True


cdef int update_prepare(Engine* engine, Slot* slot, Command* command) noexcept nogil:
    """Take what a description means, and go on; a `Carried`."""
    cdef Group* group = slot.group if slot != NULL else NULL
    if group == NULL or group.replica == NULL or not group.replica.is_held:
        answer_made(engine, command.id, STATUS_NOT_THERE, 0)
        return CARRIED_OUT
    command_free(group.prepared)
    group.prepared = command
    group.prepared_at = <uint64_t> command.numbers[1]
    replica_go_on(engine.replicas, group.replica)
    answer_made(engine, command.id, 0, 0)
    return CARRIED_KEPT


cdef void update_followed(Slot* slot, uint64_t index, int64_t time_ns) noexcept nogil:
    """Let a stream be as was prepared for an entry; nothing was, where it is as it is said already."""
    cdef Command* prepared = slot.group.prepared
    if prepared == NULL or slot.group.prepared_at != index:
        return
    slot.group.prepared = NULL
    group_describe(slot.group, command_text(prepared, 2), prepared.lengths[2])
    stream_set_limits(&slot.stream, &prepared.limits, time_ns)
    opened_is(slot, prepared)


cdef void opened_is(Slot* slot, Command* command) noexcept nogil:
    """Let a command say who reaches a stream here, when it is led here: account, name and subjects as when it was opened."""
    command_free(slot.opened)
    slot.opened = command
