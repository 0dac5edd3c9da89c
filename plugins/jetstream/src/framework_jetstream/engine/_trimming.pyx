"""Give up files of the log: what lives of them goes elsewhere first; then a SNAPSHOT says that entries before it are needed no more.

Consumers and small streams are written once more, at the end of the log, as one entry each. That begins when the log is more than twice as
long as what lives of them, so each byte is written twice at most, on average. Such a stream is written when all that was proposed to it is
applied; until then nothing more is proposed. One that is larger would hold up others for too long: it goes to segments (`_segments.pyx`).
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from framework_jetstream.engine._answers cimport event_made
from framework_jetstream.engine._consumer_log cimport consumer_change
from framework_jetstream.engine._control_groups cimport controls_save
from framework_jetstream.engine._groups cimport group_propose
from framework_jetstream.engine._operations cimport OP_STATE, OperationHead
from framework_jetstream.engine._replica_states cimport consumer_is_kept, stream_is_kept
from framework_jetstream.engine._segments cimport group_needs, segments_are_written, segments_remove, segments_spill, segments_turn
from framework_jetstream.engine._sharing cimport shares_turn
from framework_jetstream.engine._state cimport (
    EVENT_REKEYED, REKEYING_DUE, REKEYING_GIVES_UP, REKEYING_OVER, REKEYING_REMOVES, ConsumerSlot, Group, Slot,
)
from framework_jetstream.engine._wakes cimport wake_at
from framework_jetstream.log._appending cimport log_group_close, log_group_describe, log_group_new, log_snapshot
from framework_jetstream.log._committed cimport log_file_count, log_forget, log_trim
from framework_jetstream.log._log cimport LogGroup, LogPart
from framework_jetstream.log._log_groups cimport log_group
from framework_jetstream.log._performing cimport log_has_other_keys
from framework_jetstream.log._record cimport OP
from framework_jetstream.store._subjects cimport subject_chars
from framework_jetstream.stream._machine cimport Stream
from framework_jetstream.stream._messages cimport Messages, Record, messages_next
from framework_jetstream.stream._whole cimport WholeMessage, whole_size, whole_write

cdef enum:
    MESSAGE_BYTES = 64
    # So many at least for each message of a stream that is called small.
    HEAD_PIECES = 3
    PIECES = 3
    # Of a message.
    HELD_NS = 100000000
    # Between looks at files that are held.
    REKEYING_NS = 100000000
    # Between looks at what is left to be written again.


# ---- streams ---------------------------------------------------------------------------------------------------------------


cdef void _put(LogPart* piece, const void* chars, uint32_t length, bint goes_on) noexcept nogil:
    piece.chars = <const char*> chars
    piece.length = length
    piece.goes_on = goes_on


cdef void _put_messages(Messages* messages, LogPart* pieces, WholeMessage* heads) noexcept nogil:
    cdef Record record = messages_next(messages, 0)
    while record.seq:
        heads.seq = record.seq
        heads.time_ns = record.time_ns
        heads.header_length = record.header_length
        heads.subject_length = record.subject.length
        _put(pieces, heads, sizeof(WholeMessage), True)
        _put(pieces + 1, subject_chars(record.subject), record.subject.length, True)
        _put(pieces + 2, record.chars, record.header_length + record.payload_length, False)
        heads += 1
        pieces += PIECES
        record = messages_next(messages, record.seq + 1)


cdef uint64_t _propose_state(Engine* engine, Slot* slot, LogPart* pieces, WholeMessage* heads, char* whole, size_t size) noexcept nogil:
    cdef OperationHead head
    memset(&head, 0, sizeof(head))
    head.operation = OP_STATE
    head.time_ns = engine.unix_ns
    whole_write(&slot.stream, whole)
    _put(pieces, &head, sizeof(head), False)
    _put(pieces + 1, slot.group.description, slot.group.description_bytes, False)
    _put(pieces + 2, whole, <uint32_t> size, False)
    _put_messages(&slot.stream.messages, pieces + HEAD_PIECES, heads)
    return group_propose(
        engine, slot.group, OP, pieces, <uint32_t> (HEAD_PIECES + slot.stream.messages.count * PIECES), NULL, NULL, 0
    )


cdef void _save_stream(Engine* engine, Slot* slot) noexcept nogil:
    """Write a stream as a whole."""
    cdef size_t size = whole_size(&slot.stream), count = slot.stream.messages.count
    cdef LogPart* pieces = <LogPart*> malloc((HEAD_PIECES + count * PIECES) * sizeof(LogPart))
    cdef WholeMessage* heads = <WholeMessage*> malloc((count + 1) * sizeof(WholeMessage))
    cdef char* whole = <char*> malloc(size)
    cdef uint64_t index = 0
    if pieces != NULL and heads != NULL and whole != NULL:
        index = _propose_state(engine, slot, pieces, heads, whole, size)
    free(pieces)
    free(heads)
    free(whole)
    if index:
        slot.group.saved_at = index
        slot.group.saved_in = engine.log.file.number


cdef bint _is_small(const Engine* engine, const Slot* slot) noexcept nogil:
    cdef const Stream* stream = &slot.stream
    return max(stream.messages.bytes, stream.messages.count * MESSAGE_BYTES) + stream.batches.bytes <= engine.small_bytes


# ---- all groups ------------------------------------------------------------------------------------------------------------


cdef int64_t _small_bytes(const Engine* engine) noexcept nogil:
    """Return how much would be written to the log again."""
    cdef int64_t live = 0
    cdef uint32_t at
    for at in range(engine.slot_count):
        if engine.slots[at] != NULL and engine.slots[at].group != NULL and _is_small(engine, engine.slots[at]):
            live += <int64_t> engine.slots[at].stream.messages.bytes
    return live


cdef bint _is_worth_it(Engine* engine) noexcept nogil:
    """Whether the log is much longer than what would be written to it again."""
    return (log_file_count(engine.log) - engine.log_files) * <int64_t> engine.log.file_bytes > 2 * _small_bytes(engine)


cdef uint64_t _free_before(const Engine* engine) noexcept nogil:
    """Return a file before which the log has nothing that large streams need; 0: that is less than would be written for it."""
    cdef uint64_t first = engine.log.file.number
    cdef uint32_t at
    for at in range(engine.slot_count):
        if engine.slots[at] != NULL and engine.slots[at].group != NULL and not _is_small(engine, engine.slots[at]):
            first = min(first, group_needs(engine, engine.slots[at].group))
    if first <= engine.log.first_file:
        return 0
    return first if <int64_t> ((first - engine.log.first_file) * engine.log.file_bytes) > _small_bytes(engine) else 0


cdef bint _snapshot(Engine* engine, Group* group) noexcept nogil:
    """Say that entries before the one that has all are needed no more; False: there is no room now."""
    cdef uint64_t term = log_group(engine.log, group.number).term
    if group.saved_at and log_snapshot(engine.log, group.number, group.saved_at - 1, term, NULL, 0, False):
        group.saved_at = 0
        engine.has_appended = True
    return group.saved_at == 0


cdef bint _is_in_log(Engine* engine, Slot* slot) noexcept nogil:
    """Go on with writing a stream to the log; True: nothing more is to be said of it."""
    cdef Group* group = slot.group
    if group.saved_in < engine.trim_before:
        slot.is_saving = 1
        if group.applied < group.proposed or slot.is_restored:
            return False
        _save_stream(engine, slot)
        if group.saved_in < engine.trim_before:
            return False
    slot.is_saving = 0
    if not _snapshot(engine, group):
        return False
    if slot.segment_count and log_group(engine.log, group.number).snapshot_bytes == 0:
        segments_remove(engine, slot)
    return True


cdef bint _stream_is_saved(Engine* engine, Slot* slot) noexcept nogil:
    """Go on with saving a stream; True: nothing more is to be said of it."""
    cdef Group* group = slot.group
    if slot.sharing != NULL:
        return False
    if group.replica != NULL:
        return stream_is_kept(engine, slot)
    # What is in no memory is not written to the log again.
    if slot.job == NULL and slot.stream.messages.absent == 0 and (
        group.saved_at or group.saved_in >= engine.trim_before or _is_small(engine, slot)
    ):
        return _is_in_log(engine, slot)
    slot.is_saving = 0
    return segments_are_written(engine, slot)


cdef bint _consumer_is_saved(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    cdef Group* group = consumer.group
    if group.replica != NULL:
        return consumer_is_kept(engine, consumer)
    if group.saved_in >= engine.trim_before:
        return _snapshot(engine, group)
    if consumer.is_restored:
        # Until it is opened nothing is proposed to it.
        return False
    if not consumer.is_whole_due:
        if not log_group_describe(engine.log, group.number, group.description, group.description_bytes):
            return False
        consumer.is_whole_due = 1
        consumer_change(engine, consumer)
    return False


cdef bint _is_said(Engine* engine) noexcept nogil:
    """Write what lives of all groups, one stream after the other; True: all is written."""
    cdef uint32_t at
    for at in range(engine.consumer_room):
        if engine.consumers[at] != NULL and engine.consumers[at].group != NULL:
            if not _consumer_is_saved(engine, engine.consumers[at]):
                return False
    for at in range(engine.slot_count):
        if engine.slots[at] != NULL and engine.slots[at].group != NULL:
            if not _stream_is_saved(engine, engine.slots[at]):
                return False
    controls_save(engine)
    return True


cdef bint _say_again(Engine* engine) noexcept nogil:
    """Append what the log has already, so that a file is begun, or hears which ones are needed; False: it has no room now."""
    cdef uint32_t group
    cdef bint done = False
    cdef size_t at
    cdef LogGroup* it
    for at in range(engine.log.group_mask + 1 if engine.log.groups != NULL else 0):
        it = engine.log.groups[at]
        if it != NULL and it.is_open:
            done = log_group_describe(engine.log, it.id, it.description, it.description_bytes)
            break
    else:
        group = log_group_new(engine.log, NULL, 0, False)
        done = group != 0 and log_group_close(engine.log, group)
    engine.has_appended = True
    return done


cdef void _rekey(Engine* engine) noexcept nogil:
    """Have all files given up that were there at the start, since not all of them were written with the key of now."""
    if engine.keeps_files:
        engine.rekeying = REKEYING_OVER
    elif engine.rekeying == REKEYING_DUE and engine.log.file.size == 0:
        _say_again(engine)
    elif engine.rekeying == REKEYING_DUE:
        engine.rekeying = REKEYING_GIVES_UP
        engine.has_dead = True
    elif engine.rekeying == REKEYING_GIVES_UP:
        if not engine.has_dead and _say_again(engine):
            engine.rekeying = REKEYING_REMOVES
    elif engine.removable_count == 0 and engine.removals == 0 and not log_has_other_keys(engine.log):
        engine.rekeying = REKEYING_OVER
        event_made(engine, EVENT_REKEYED, 0)


cdef void _begin(Engine* engine) noexcept nogil:
    """Give up files as soon as no entry in them is needed: those that large streams do not need, or all but the one that is written."""
    cdef uint32_t at
    engine.trim_before = 0 if engine.has_dead else _free_before(engine)
    if not engine.trim_before:
        engine.trim_before = engine.log.file.number
    engine.trim_waits = 0
    engine.has_dead = False
    for at in range(engine.slot_count):
        if engine.slots[at] != NULL and engine.slots[at].group != NULL:
            engine.slots[at].group.due = engine.slots[at].group.proposed


cdef void trim_turn(Engine* engine) noexcept nogil:
    """Begin to give up files where that is worth it, and go on with it."""
    segments_turn(engine)
    if engine.log.failed:
        return
    if not engine.trim_before or engine.now_ns < engine.trim_again_ns:
        # Also behind a start, when nothing is to be written yet.
        segments_spill(engine)
    if engine.log.file == NULL:
        return
    if engine.sharings:
        shares_turn(engine)
    if not engine.trim_before:
        if engine.rekeying:
            _rekey(engine)
            # Threads remove files, and wake nobody.
            wake_at(engine, engine.now_ns + REKEYING_NS)
        if engine.has_rescued and engine.log.file.size:
            # What is left of a group is to be in a state soon: damaged entries are nothing for servers that are added.
            engine.has_rescued = False
            engine.has_dead = True
        if engine.trim_looked == engine.log.file.number and not engine.has_dead:
            return
        engine.trim_looked = engine.log.file.number
        log_forget(engine.log)
        if engine.keeps_files or not (engine.has_dead or _is_worth_it(engine)):
            return
        _begin(engine)
    if engine.now_ns < engine.trim_again_ns:
        return
    if not engine.trim_waits and engine.saves == 0 and engine.now_ns >= engine.saves_again_ns and _is_said(engine):
        # The last SNAPSHOT is in this round, or in one before it.
        engine.trim_waits = engine.log.round_number
    if engine.trim_waits and engine.log.synced >= engine.trim_waits:
        if log_trim(engine.log, engine.trim_before):
            engine.trim_before = 0
        else:
            # What is held still is looked at again.
            engine.trim_again_ns = engine.now_ns + HELD_NS
            wake_at(engine, engine.trim_again_ns)
        engine.trim_waits = 0
