"""Streams and consumers that were this server's alone, and that others are to have too.

What their entries have led to takes the place of these, in one record of the log that also says what the group is from now on: a stop
leaves the one or the other. This server is then the only member of a group of Raft, leads it as soon as that is synced, and adds others.
A stream's publishers wait meanwhile; before, one that is large is saved in segments while they go on, so that they wait only for the rest.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from framework_jetstream.consumer._state cimport state_size, state_write
from framework_jetstream.engine._answers cimport answer_made
from framework_jetstream.engine._groups cimport (
    CARRIED_BUSY, CARRIED_KEPT, CARRIED_OUT, STATUS_NOT_NOW, group_describe, proposals_drop,
)
from framework_jetstream.engine._held_updates cimport opened_is
from framework_jetstream.engine._replica_states cimport stream_is_small, stream_state
from framework_jetstream.engine._replicated cimport REPLICAS_AT, consumer_follows, slot_compares
from framework_jetstream.engine._segments cimport segments_are_said, segments_follow, segments_remove, segments_save, segments_text
from framework_jetstream.engine._serving cimport slot_enter
from framework_jetstream.engine._staging cimport slot_propose
from framework_jetstream.engine._state cimport Group, command_free, command_text
from framework_jetstream.log._log cimport LOG_BUSY
from framework_jetstream.replication._replicas cimport replica_share
from framework_jetstream.stream._headers cimport Text

cdef int _refused(Engine* engine, Command* command) noexcept nogil:
    answer_made(engine, command.id, STATUS_NOT_NOW, 0)
    return CARRIED_OUT


cdef int _share(Engine* engine, Group* group, Command* command, const char* state, size_t length) noexcept nogil:
    """Let others be added to a group; CARRIED_OUT: it is refused, and nothing has changed."""
    cdef uint32_t bytes = <uint32_t> command.lengths[2]
    group.replica = replica_share(
        engine.replicas, group.number, <uint64_t> command.numbers[REPLICAS_AT], command_text(command, 2), bytes, state, length
    )
    if group.replica == NULL:
        return CARRIED_BUSY if engine.log.refused == LOG_BUSY and not engine.log.failed else _refused(engine, command)
    group.replica.keeps_bytes = group.consumer != NULL
    if group.slot != NULL:
        slot_compares(group.slot)
    engine.has_appended = True
    group_describe(group, command_text(command, 2), bytes)
    group.leads_term = 0
    group.is_created = 1
    group.saved_at = 0
    return CARRIED_KEPT


cdef int stream_share(Engine* engine, Slot* slot, Command* command) noexcept nogil:
    """Let others have a stream that is open here, as soon as all that was proposed is applied, and kept; a `Carried`."""
    if slot.is_restored or slot.sharing != NULL or not slot_compares(slot):
        return _refused(engine, command)
    slot.sharing = command
    slot.is_saved_once = 0
    engine.sharings += 1
    return CARRIED_KEPT


cdef void _end(Engine* engine, Slot* slot) noexcept nogil:
    slot.sharing = NULL
    engine.sharings -= 1


cdef void _give_up(Engine* engine, Slot* slot) noexcept nogil:
    """Let publishers go on: the stream stays this server's alone."""
    cdef Command* command = slot.sharing
    slot.is_saving = 0
    _end(engine, slot)
    command_free(command)


cdef bint _save(Engine* engine, Slot* slot) noexcept nogil:
    """Have a stream saved as it is; False: there is no room on the disk, or no memory."""
    if engine.now_ns >= engine.saves_again_ns:
        segments_save(engine, slot, True)
    return slot.job != NULL


cdef bint _stands_still(Engine* engine, Slot* slot) noexcept nogil:
    """Let publishers wait until it is led; False: not all is applied yet that was proposed."""
    if not slot.is_saving and not slot_propose(engine, slot):
        return False
    slot.is_saving = 1
    return slot.group.applied == slot.group.proposed


cdef char* _state(Engine* engine, Slot* slot, size_t* length, bint* has_failed) noexcept nogil:
    """Return what a stream is now, to be freed; NULL: it is to be saved, or stands not still yet."""
    cdef Text* description
    cdef char* text
    if slot.job == NULL and stream_is_small(engine, slot):
        if not _stands_still(engine, slot):
            return NULL
        text = stream_state(slot, command_text(slot.sharing, 2), slot.sharing.lengths[2], length)
        has_failed[0] = text == NULL
        return text
    if slot.job != NULL and not slot.job.is_done:
        return NULL
    # What there is, while publishers go on; then what they have added.
    if slot.is_saved_once and not _stands_still(engine, slot):
        return NULL
    if not slot.is_saved_once or slot.job == NULL or slot.job.index != slot.group.applied:
        if segments_are_said(engine, slot):
            slot.is_saved_once = 1
            has_failed[0] = not _save(engine, slot)
        return NULL
    description = &slot.job.description
    text = <char*> malloc(slot.sharing.lengths[2] + 1)
    has_failed[0] = text == NULL
    if text == NULL:
        return NULL
    memcpy(text, command_text(slot.sharing, 2), slot.sharing.lengths[2])
    free(<void*> description.chars)
    description.chars = text
    description.length = <uint32_t> slot.sharing.lengths[2]
    text = segments_text(slot, length)
    has_failed[0] = text == NULL
    return text


cdef void _share_stream(Engine* engine, Slot* slot) noexcept nogil:
    cdef Command* command = slot.sharing
    cdef bint has_failed = False
    cdef size_t length
    cdef char* state = _state(engine, slot, &length, &has_failed)
    cdef int carried
    if has_failed:
        _refused(engine, command)
        _give_up(engine, slot)
    if state == NULL:
        return
    carried = _share(engine, slot.group, command, state, length)
    free(state)
    if carried == CARRIED_OUT:
        _give_up(engine, slot)
    if carried != CARRIED_KEPT:
        return
    if slot.job != NULL:
        segments_follow(engine, slot)
    else:
        segments_remove(engine, slot)
    _end(engine, slot)
    slot_enter(engine, slot, command)
    opened_is(slot, command)
    answer_made(engine, command.id, 0, 0)


cdef void shares_turn(Engine* engine) noexcept nogil:
    """Go on with streams that others are to have."""
    cdef uint32_t at
    for at in range(engine.slot_count):
        if engine.slots[at] != NULL and engine.slots[at].sharing != NULL:
            _share_stream(engine, engine.slots[at])


cdef int consumer_share(Engine* engine, ConsumerSlot* consumer, Command* command) noexcept nogil:
    """Let others have a consumer that is open here: what it has decided is what it is, said or not; a `Carried`."""
    cdef char* state
    cdef size_t length
    cdef int carried
    if consumer.opening != NULL or consumer.is_restored:
        return _refused(engine, command)
    state = <char*> malloc(state_size(&consumer.machine, 0, True))
    if state == NULL:
        return _refused(engine, command)
    length = state_write(&consumer.machine, NULL, 0, True, consumer.last_delivered_ns, consumer.last_ack_ns, state)
    carried = _share(engine, consumer.group, command, state, length)
    free(state)
    if carried == CARRIED_KEPT:
        proposals_drop(engine, consumer.group)
        consumer.group.proposed = consumer.group.applied = consumer.group.replica.raft.applied
        consumer.opened = command
        answer_made(engine, command.id, 0, 0)
        consumer_follows(engine, consumer)
    return carried
