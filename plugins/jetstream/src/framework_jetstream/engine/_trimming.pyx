"""Give up files of the log: what lives of them is written once more, at its end, as one entry a group; then a SNAPSHOT says that entries
before it are needed no more.

It begins when the log is more than twice as long as what lives, so each byte is written twice at most, on average. A stream is written when
all that was proposed to it is applied; until then nothing more is proposed. One with more than 32 MiB would hold up others for too
long: as long as there is one the log keeps its files.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from framework_jetstream.engine._consumer_log cimport consumer_change
from framework_jetstream.engine._groups cimport group_propose
from framework_jetstream.engine._operations cimport OP_STATE, OperationHead
from framework_jetstream.engine._state cimport ConsumerSlot, Group, Slot
from framework_jetstream.log._log cimport LogPart, log_file_count, log_forget, log_group_describe, log_snapshot, log_trim
from framework_jetstream.log._record cimport OP
from framework_jetstream.store._subjects cimport subject_chars
from framework_jetstream.stream._messages cimport Messages, Record, messages_next
from framework_jetstream.stream._whole cimport WholeMessage, whole_size, whole_write

cdef enum:
    FILES_KEPT = 3
    # Of the log, beside twice what lives.
    SAVED_BYTES_MAX = 33554432
    SAVED_MESSAGES_MAX = 500000
    HEAD_PIECES = 3
    PIECES = 3
    # Of a message.


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


cdef bint _is_small(const Slot* slot) noexcept nogil:
    return slot.stream.messages.bytes + slot.stream.batches.bytes <= SAVED_BYTES_MAX and slot.stream.messages.count <= SAVED_MESSAGES_MAX


# ---- all groups ------------------------------------------------------------------------------------------------------------


cdef bint _is_worth_it(Engine* engine) noexcept nogil:
    """Whether the log is much longer than what lives."""
    cdef uint64_t live = 0
    cdef uint32_t at
    for at in range(engine.slot_count):
        if engine.slots[at] != NULL and engine.slots[at].group != NULL:
            if not _is_small(engine.slots[at]):
                return False
            live += engine.slots[at].stream.messages.bytes
    return (log_file_count(engine.log) - FILES_KEPT) * <int64_t> engine.log.file_bytes > 2 * <int64_t> live


cdef bint _snapshot(Engine* engine, Group* group) noexcept nogil:
    """Say that entries before the one that has all are needed no more; False: there is no room now."""
    if group.saved_at and log_snapshot(engine.log, group.number, group.saved_at - 1, NULL, 0):
        group.saved_at = 0
        engine.has_appended = True
    return group.saved_at == 0


cdef bint _stream_is_saved(Engine* engine, Slot* slot) noexcept nogil:
    """Go on with saving a stream; True: nothing more is to be said of it."""
    cdef Group* group = slot.group
    if group.saved_in < engine.trim_before:
        slot.is_saving = 1
        if group.applied < group.proposed or slot.is_restored:
            return False
        _save_stream(engine, slot)
        if group.saved_in < engine.trim_before:
            return False
    slot.is_saving = 0
    return _snapshot(engine, group)


cdef bint _consumer_is_saved(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    cdef Group* group = consumer.group
    if group.saved_in >= engine.trim_before:
        return _snapshot(engine, group)
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
        if engine.consumers[at] != NULL and engine.consumers[at].group != NULL and not engine.consumers[at].is_restored:
            if not _consumer_is_saved(engine, engine.consumers[at]):
                return False
    for at in range(engine.slot_count):
        if engine.slots[at] != NULL and engine.slots[at].group != NULL:
            if not _stream_is_saved(engine, engine.slots[at]):
                return False
    return True


cdef void trim_turn(Engine* engine) noexcept nogil:
    """Begin to give up files where that is worth it, and go on with it."""
    if engine.log.file == NULL or engine.log.failed:
        return
    if not engine.trim_before:
        if engine.trim_looked == engine.log.file.number:
            return
        engine.trim_looked = engine.log.file.number
        log_forget(engine.log)
        if engine.keeps_files or not _is_worth_it(engine):
            return
        engine.trim_before = engine.log.file.number
        engine.trim_waits = 0
    if not engine.trim_waits and _is_said(engine):
        # The last SNAPSHOT is in this round, or in one before it.
        engine.trim_waits = engine.log.round_number
    if engine.trim_waits and engine.log.synced >= engine.trim_waits and log_trim(engine.log, engine.trim_before):
        engine.trim_before = 0
