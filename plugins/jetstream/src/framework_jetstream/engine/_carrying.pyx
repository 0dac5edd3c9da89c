"""Commands in their order: at once, behind what was proposed before them, or by the log.

What changes a stream in files is proposed, and carried out and answered when it is applied. What reads one waits until all that was
proposed before it is applied; a client's direct get waits for what this client has published.
"""

from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from framework_jetstream.engine._accounts cimport limits_command, totals_command
from framework_jetstream.engine._answers cimport answer_made
from framework_jetstream.engine._archives cimport archive_command, archive_propose
from framework_jetstream.engine._consumer_commands cimport consumer_command
from framework_jetstream.engine._control_groups cimport group_command
from framework_jetstream.engine._direct cimport direct_get_row
from framework_jetstream.engine._groups cimport (
    CARRIED_BUSY, CARRIED_KEPT, CARRIED_OUT, STATUS_NO_ROOM, STATUS_NOT_STORED, STATUS_NOT_THERE, STATUS_OFFLINE, group_close,
    group_close_abandoned, group_opened, refused_as,
)
from framework_jetstream.engine._operations cimport OP_CREATE, operation_of_command, operation_propose
from framework_jetstream.engine._reading cimport reading_command, reading_join, reading_refuse
from framework_jetstream.engine._held_updates cimport update_prepare
from framework_jetstream.engine._replicated cimport REPLICAS_AT, replicated_stream_open
from framework_jetstream.engine._serving cimport slot_serve
from framework_jetstream.engine._staging cimport slot_propose
from framework_jetstream.engine._state cimport (
    CLOSE_ABANDONED, CLOSE_STREAM, DELETE_MESSAGE, FOLLOW_UPDATE, GET_MESSAGE, KEPT_BY_ENTRIES, KEPT_IN_FILES, KEPT_NOWHERE,
    LEAVE_CLIENTS, LIMIT_ACCOUNT, LIMIT_SERVER, TOTALS,
    OPEN_CONSUMER, OPEN_GROUP, OPEN_SOURCE, OPEN_STREAM, PURGE, READ_ARCHIVE, READ_CONSUMER, REFUSE_STREAM, RESTORE_ARCHIVE,
    RESTORE_CONSUMER, TAKES_NOTHING, UPDATE_STREAM, ConsumerSlot, Waiting, command_free, command_text, consumer_of, published_by, slot_of,
)
from framework_jetstream.engine._stream_commands cimport message_get, slot_close, slot_made, stream_command, waiting_tell
from framework_jetstream.engine._waiting cimport requests_leave
from framework_jetstream.sourcing._commands cimport source_command
from framework_jetstream.stream._headers cimport Text


# ---- streams in files ------------------------------------------------------------------------------------------------------


cdef int _open_logged(Engine* engine, Slot* slot, Command* command) noexcept nogil:
    """Open a stream in files; when the log has it, it is served."""
    cdef Text none
    cdef int carried
    none.chars = NULL
    none.length = 0
    if slot.group == NULL:
        slot.group = group_opened(engine, slot, NULL, command) if engine.log != NULL else NULL
    if slot.group == NULL:
        slot_close(engine, slot)
        if engine.log != NULL:
            return refused_as(engine, command)
        answer_made(engine, command.id, STATUS_NOT_STORED, 0)
        return CARRIED_OUT
    carried = operation_propose(engine, slot, OP_CREATE, 0, 0, none, command)
    if carried == CARRIED_OUT and slot.kept == KEPT_IN_FILES:
        group_close(engine, slot.group, NULL)
    return carried


cdef int _log_memory(Engine* engine, Slot* slot, Command* command) noexcept nogil:
    """Let the log hear of a stream that was in memory alone, since others are to have it: what it has now is said with their group."""
    slot.group = group_opened(engine, slot, NULL, command) if engine.log != NULL else NULL
    if slot.group == NULL and engine.log != NULL:
        return refused_as(engine, command)
    if slot.group == NULL:
        answer_made(engine, command.id, STATUS_NOT_STORED, 0)
        return CARRIED_OUT
    slot.kept = KEPT_BY_ENTRIES
    slot.stream.stores_all = True
    reading_join(engine, slot)
    return _open_logged(engine, slot, command)


cdef int _open(Engine* engine, Command* command) noexcept nogil:
    """Open a stream: texts are name, subjects, and what the log is to know; numbers are account, `Kept`, first sequence."""
    cdef Slot* slot = slot_of(engine, command.number)
    cdef bint is_logged = command.numbers[1] != KEPT_NOWHERE
    if slot != NULL and is_logged and slot.kept == KEPT_NOWHERE:
        return _log_memory(engine, slot, command)
    if slot == NULL:
        slot = slot_made(
            engine, command.number, command_text(command, 0), command.lengths[0], &command.limits,
            <int> command.numbers[1], <uint64_t> command.numbers[2],
        )
    if slot == NULL:
        answer_made(engine, command.id, STATUS_NO_ROOM, 0)
        return CARRIED_OUT
    if is_logged and command.numbers[REPLICAS_AT]:
        return replicated_stream_open(engine, slot, command)
    if is_logged and not slot.is_restored:
        return _open_logged(engine, slot, command)
    slot_serve(engine, slot, command)
    answer_made(engine, command.id, 0, 0)
    return CARRIED_OUT


cdef int _close_logged(Engine* engine, Slot* slot, Command* command) noexcept nogil:
    """Close a stream in files, with its consumers; it is gone when the log says so."""
    cdef ConsumerSlot* consumer = slot.consumers
    if engine.log.failed:
        answer_made(engine, command.id, STATUS_NOT_STORED, 0)
        return CARRIED_OUT
    if not slot_propose(engine, slot):
        return CARRIED_BUSY
    group_close(engine, slot.group, command)
    while consumer != NULL:
        if consumer.group != NULL:
            group_close(engine, consumer.group, NULL)
            consumer.group = NULL
        consumer = consumer.next
    return CARRIED_KEPT


# ---- waiting ---------------------------------------------------------------------------------------------------------------


cdef void _wait(Slot* slot, Waiting* waiting) noexcept nogil:
    if slot.last_waiting != NULL:
        slot.last_waiting.next = waiting
    else:
        slot.waiting = waiting
    slot.last_waiting = waiting


cdef int _wait_for_all(Slot* slot, Command* command) noexcept nogil:
    """Carry a command out behind what was proposed."""
    cdef Waiting* made = <Waiting*> calloc(1, sizeof(Waiting))
    if made == NULL:
        return CARRIED_BUSY
    made.behind = slot.group.proposed
    made.command = command
    _wait(slot, made)
    return CARRIED_KEPT


cdef bint direct_get_wait(Slot* slot, const framework_batch* batch, const framework_row* row) noexcept nogil:
    """Answer a direct get behind what its client has published; False: that is applied already."""
    cdef size_t length = <size_t> row.subject_length + row.reply_length + row.header_length + row.payload_length
    cdef Waiting* made
    if slot.group == NULL or published_by(slot, row.link)[0] <= slot.group.applied:
        return False
    made = <Waiting*> calloc(1, sizeof(Waiting) + length)
    if made == NULL:
        return False
    made.behind = published_by(slot, row.link)[0]
    made.row = row[0]
    made.row.at = 0
    memcpy(made + 1, batch.chars + row.at, length)
    _wait(slot, made)
    return True


cdef void _answer_get(Engine* engine, Slot* slot, Waiting* waiting) noexcept nogil:
    cdef framework_batch batch
    batch.count = 1
    batch.rows = &waiting.row
    batch.chars = <const char*> (waiting + 1)
    batch.owner = NULL
    direct_get_row(engine, slot, &batch, &waiting.row, &waiting.progress)


cdef void _do(Engine* engine, Slot* slot, Waiting* waiting) noexcept nogil:
    """Do what has waited, and free it."""
    cdef int carried
    if waiting.command == NULL:
        _answer_get(engine, slot, waiting)
    else:
        carried = _carry_out_now(engine, waiting.command)
        if carried == CARRIED_BUSY:
            waiting.command.next = engine.todo
            engine.todo = waiting.command
        elif carried == CARRIED_OUT:
            command_free(waiting.command)
    free(waiting)


cdef void waiting_run(Engine* engine, Slot* slot) noexcept nogil:
    """Do what has waited for entries that are applied now."""
    cdef Waiting* waiting
    while slot.waiting != NULL and slot.waiting.behind <= slot.group.applied:
        waiting = slot.waiting
        slot.waiting = waiting.next
        if slot.waiting == NULL:
            slot.last_waiting = NULL
        _do(engine, slot, waiting)


cdef void waiting_woken(Engine* engine) noexcept nogil:
    """Do what has waited for bytes that are there now."""
    cdef Waiting* waiting = engine.woken
    cdef Waiting* following
    cdef Slot* slot
    engine.woken = engine.last_woken = NULL
    while waiting != NULL:
        following = waiting.next
        waiting.next = NULL
        slot = slot_of(engine, waiting.number)
        if slot != NULL:
            _do(engine, slot, waiting)
        else:
            waiting_tell(engine, waiting)
        waiting = following


# ---- commands --------------------------------------------------------------------------------------------------------------


cdef int _carry_out_now(Engine* engine, Command* command) noexcept nogil:
    cdef uint64_t absent
    if command.verb >= OPEN_SOURCE:
        return source_command(engine, command)
    if command.verb >= READ_ARCHIVE or command.verb == GET_MESSAGE:
        absent = archive_command(engine, command) if command.verb >= READ_ARCHIVE else message_get(engine, command)
        if absent == 0:
            return CARRIED_OUT
        if engine.slots[command.number].is_refused:
            answer_made(engine, command.id, STATUS_OFFLINE, 0)
            return CARRIED_OUT
        return CARRIED_KEPT if reading_command(engine, engine.slots[command.number], command, absent) else CARRIED_BUSY
    if command.verb >= OPEN_CONSUMER:
        return consumer_command(engine, command)
    stream_command(engine, command)
    return CARRIED_OUT


cdef Slot* _slot_of_command(Engine* engine, Command* command) noexcept nogil:
    """Return the stream that a command is about; NULL: there is none."""
    cdef ConsumerSlot* consumer
    if command.verb < OPEN_CONSUMER or command.verb in (REFUSE_STREAM, FOLLOW_UPDATE) or (
        command.verb >= READ_ARCHIVE and command.verb not in (READ_CONSUMER, RESTORE_CONSUMER)
    ):
        return slot_of(engine, command.number)
    if command.verb == OPEN_CONSUMER:
        return slot_of(engine, <uint64_t> command.numbers[0])
    consumer = consumer_of(engine, command.number)
    return consumer.slot if consumer != NULL else NULL


cdef int command_carry_out(Engine* engine, Command* command) noexcept nogil:
    """Carry out a command, or see that it will be; a `Carried`."""
    cdef Slot* slot
    if command.verb == OPEN_STREAM:
        return _open(engine, command)
    if command.verb in (LIMIT_SERVER, LIMIT_ACCOUNT):
        limits_command(engine, command)
        return CARRIED_OUT
    if command.verb == TOTALS:
        totals_command(engine, command)
        return CARRIED_OUT
    if command.verb == LEAVE_CLIENTS:
        requests_leave(engine)
        answer_made(engine, command.id, 0, 0)
        return CARRIED_OUT
    if command.verb == CLOSE_ABANDONED:
        return group_close_abandoned(engine, command)
    if command.verb >= OPEN_GROUP:
        return group_command(engine, command)
    slot = _slot_of_command(engine, command)
    if command.verb == REFUSE_STREAM:
        if slot != NULL and command.numbers[0] == TAKES_NOTHING:
            slot.is_shut = 1
        elif slot != NULL:
            reading_refuse(engine, slot, command.numbers[0] != 0)
        answer_made(engine, command.id, 0 if slot != NULL else STATUS_NOT_THERE, 0)
        return CARRIED_OUT
    if command.verb == FOLLOW_UPDATE:
        return update_prepare(engine, slot, command)
    if slot == NULL or slot.group == NULL:
        return _carry_out_now(engine, command)
    if command.verb in (UPDATE_STREAM, PURGE, DELETE_MESSAGE):
        return operation_of_command(engine, slot, command)
    if command.verb == RESTORE_ARCHIVE:
        return archive_propose(engine, slot, command)
    if command.verb == CLOSE_STREAM:
        return _close_logged(engine, slot, command)
    if not slot_propose(engine, slot):
        return CARRIED_BUSY
    if slot.group.applied < slot.group.proposed:
        return _wait_for_all(slot, command)
    return _carry_out_now(engine, command)
