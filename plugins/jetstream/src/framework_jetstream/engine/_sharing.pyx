"""Streams and consumers that were this server's alone, and that others are to have too.

What their entries have led to takes the place of these, in one record of the log that also says what the group is from now on: a stop
leaves the one or the other. This server is then the only member of a group of Raft, leads it as soon as that is synced, and adds others.
A stream's publishers wait meanwhile.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from framework_jetstream.consumer._state cimport state_size, state_write
from framework_jetstream.engine._answers cimport answer_made
from framework_jetstream.engine._groups cimport (
    CARRIED_BUSY, CARRIED_KEPT, CARRIED_OUT, STATUS_NOT_NOW, group_describe, proposals_drop,
)
from framework_jetstream.engine._held_updates cimport opened_is
from framework_jetstream.engine._replica_states cimport stream_state
from framework_jetstream.engine._replicated cimport REPLICAS_AT, consumer_follows
from framework_jetstream.engine._segments cimport segments_remove
from framework_jetstream.engine._serving cimport slot_enter
from framework_jetstream.engine._staging cimport slot_propose
from framework_jetstream.engine._state cimport Group, command_text
from framework_jetstream.log._log cimport LOG_BUSY
from framework_jetstream.replication._replicas cimport replica_share

cdef enum:
    SHARED_BYTES_MAX = 1 << 24
    # A state is in memory as a whole, and in the head of each file of the log: larger streams stay where they are.


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
    engine.has_appended = True
    group_describe(group, command_text(command, 2), bytes)
    group.leads_term = 0
    group.is_created = 1
    group.saved_at = 0
    return CARRIED_KEPT


cdef int stream_share(Engine* engine, Slot* slot, Command* command) noexcept nogil:
    """Let others have a stream that is open here, as soon as all that was proposed is applied; a `Carried`."""
    cdef char* state
    cdef size_t length
    cdef int carried
    if slot.job != NULL or slot.stream.messages.absent or slot.stream.messages.bytes > SHARED_BYTES_MAX or slot.is_restored:
        slot.is_saving = 0
        return _refused(engine, command)
    if not slot.is_saving and not slot_propose(engine, slot):
        return CARRIED_BUSY
    # Until it is led publishers wait.
    slot.is_saving = 1
    if slot.group.applied < slot.group.proposed:
        return CARRIED_BUSY
    state = stream_state(slot, command_text(command, 2), command.lengths[2], &length)
    carried = _share(engine, slot.group, command, state, length) if state != NULL else _refused(engine, command)
    free(state)
    if carried == CARRIED_OUT:
        slot.is_saving = 0
    if carried == CARRIED_KEPT:
        segments_remove(engine, slot)
        slot_enter(engine, slot, command)
        opened_is(slot, command)
        answer_made(engine, command.id, 0, 0)
    return carried


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
