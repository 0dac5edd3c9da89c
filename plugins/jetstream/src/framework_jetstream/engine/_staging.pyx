"""Messages on their way to the log: what comes for a stream in one turn is one entry.

Its first part has the time, by which all replicas decide; then each message is a part of its own, so that damage names it. Nothing is
copied before the log copies it: batches of the port are held until then. Of messages that come from streams elsewhere it says what they
were there.
"""

from libc.stdint cimport uint16_t, uint32_t
from libc.stdlib cimport malloc, realloc
from libc.string cimport memcpy

from framework_jetstream.engine._accounts cimport marks_of, message_arrived, message_wait
from framework_jetstream.engine._answers cimport answer_bytes, event_made
from framework_jetstream.engine._compressing cimport CompressedBatch, batch_compress
from framework_jetstream.engine._groups cimport group_next_index, group_propose, texts_add
from framework_jetstream.engine._message_entries cimport (
    HEAD_FIRST, HEAD_LENGTH, HEAD_MIRRORED, HEAD_SOURCED, MARK_BITS, BatchHead, MessageHead, StagedHead,
)
from framework_jetstream.engine._publishing cimport publish_refuse, publish_unserved
from framework_jetstream.engine._segments cimport segments_hold
from framework_jetstream.engine._state cimport EVENT_OUT_OF_STORAGE, Answer, Made, made_free, published_by
from framework_jetstream.log._log cimport LOG_BUSY, LOG_FULL, LOG_NOT_LEADER, LOG_UNKNOWN, LogPart
from framework_jetstream.log._record cimport BATCH, COMPRESSED
from framework_jetstream.stream._fast_publishing cimport is_fast
from framework_jetstream.stream._machine cimport GIVEN_BY_ORIGIN, OFFLINE, STORAGE_EXHAUSTED, Publish

cdef enum:
    ENTRY_BYTES_MAX = 1 << 19
    # Then the next one begins: with its last message it is to have room in a block of the log, which is used again.
    REPLY_BYTES_MAX = 4095
    # That stand in an entry.
    PIECES = 3
    # Of a message: head, subject, header with payload.
    MADE_BYTES = 65536


cdef bint _make_room(Slot* slot) noexcept nogil:
    cdef uint32_t room = slot.staging.piece_room * 2 + 64
    cdef void* grown
    if slot.staging.piece_count + PIECES + 1 <= slot.staging.piece_room:
        return True
    grown = realloc(slot.staging.pieces, room * sizeof(LogPart))
    if grown == NULL:
        return False
    slot.staging.pieces = <LogPart*> grown
    grown = realloc(slot.staging.heads, room * sizeof(StagedHead))
    if grown == NULL:
        return False
    slot.staging.heads = grown
    slot.staging.piece_room = room
    return True


cdef void _piece(Slot* slot, const char* chars, uint32_t length, bint goes_on) noexcept nogil:
    cdef LogPart* piece = &slot.staging.pieces[slot.staging.piece_count]
    piece.chars = chars
    piece.length = length
    piece.goes_on = goes_on
    slot.staging.piece_count += 1


cdef uint16_t _flags(Engine* engine, Slot* slot, const framework_batch* batch, const framework_row* row) noexcept nogil:
    """Count a message that is to be proposed; return the flags of its head."""
    cdef Publish publish
    cdef uint16_t marks
    publish.subject.chars = batch.chars + row.at
    publish.subject.length = row.subject_length
    publish.reply.chars = publish.subject.chars + row.subject_length
    publish.reply.length = row.reply_length if row.reply_length <= REPLY_BYTES_MAX else 0
    if not is_fast(&publish):
        publish.reply.length = 0
    publish.header.chars = publish.subject.chars + row.subject_length + row.reply_length
    publish.header.length = row.header_length
    publish.payload.length = row.payload_length
    marks = marks_of(engine, slot, &publish)
    message_wait(slot, &publish)
    return <uint16_t> (marks | publish.reply.length << MARK_BITS)


cdef StagedHead* _begin_message(Engine* engine, Slot* slot) noexcept nogil:
    """Begin with a message for which there is room; its head is to be filled in."""
    if slot.staging.piece_count == 0:
        _piece(slot, NULL, sizeof(BatchHead), False)
    if not slot.is_staging:
        slot.is_staging = 1
        slot.next_staging = engine.staging
        engine.staging = slot
    return &(<StagedHead*> slot.staging.heads)[slot.staging.piece_count // PIECES]


cdef bint publish_stage(Engine* engine, Slot* slot, const framework_batch* batch, const framework_row* row) noexcept nogil:
    """Let a message be part of the stream's next entry; False: no memory.

    Args:
        batch: Is held until that is proposed.
    """
    cdef const char* subject = batch.chars + row.at
    cdef const char* reply = subject + row.subject_length
    cdef uint32_t reply_length = 0 if slot.stream.limits.no_ack else row.reply_length
    cdef MessageHead* head
    if slot.is_refused or slot.is_shut:
        if reply_length:
            publish_refuse(engine, slot, reply, reply_length, OFFLINE)
        return True
    if not _make_room(slot) or not texts_add(
        &slot.staging.replies, &slot.staging.reply_length, &slot.staging.reply_room, reply, reply_length
    ):
        return False
    head = &_begin_message(engine, slot).head
    head.header_length = row.header_length
    head.subject_length = <uint16_t> row.subject_length
    head.flags = _flags(engine, slot, batch, row)
    _piece(slot, NULL, sizeof(MessageHead), True)
    _piece(slot, subject, row.subject_length + (head.flags >> MARK_BITS), True)
    _piece(slot, reply + row.reply_length, row.header_length + row.payload_length, False)
    slot.staging.bytes += row.subject_length + row.header_length + row.payload_length
    published_by(slot, row.link)[0] = group_next_index(slot.group)
    if slot.staging.bytes >= ENTRY_BYTES_MAX:
        slot_propose(engine, slot)  # where the log has no room, it grows: by what one turn takes at most
    return True


cdef char* staging_chars(Slot* slot, size_t length) noexcept nogil:
    """Return room for a text until the stream's next entry is proposed; NULL: no memory."""
    cdef Made* made = slot.staging.made
    cdef size_t size = max(length, <size_t> MADE_BYTES)
    if made == NULL or made.size - made.used < length:
        made = <Made*> malloc(sizeof(Made) + size)
        if made == NULL:
            return NULL
        made.size = size
        made.used = 0
        made.next = slot.staging.made
        slot.staging.made = made
    made.used += length
    return <char*> (made + 1) + made.used - length


cdef bint given_stage(Engine* engine, Slot* slot, const Publish* publish) noexcept nogil:
    """Let a message of a stream elsewhere be part of the stream's next entry; False: no memory, or it is refused.

    Args:
        publish: Its payload follows its header; its texts stay until that is proposed.
    """
    cdef StagedHead* staged
    if slot.is_refused or slot.is_shut or not _make_room(slot) or not texts_add(
        &slot.staging.replies, &slot.staging.reply_length, &slot.staging.reply_room, NULL, 0
    ):
        return False
    staged = _begin_message(engine, slot)
    staged.head.header_length = publish.header.length | (HEAD_MIRRORED if publish.giver == GIVEN_BY_ORIGIN else HEAD_SOURCED)
    if publish.is_first:
        staged.head.header_length |= HEAD_FIRST
    staged.head.subject_length = <uint16_t> publish.subject.length
    staged.head.flags = marks_of(engine, slot, publish)
    message_wait(slot, publish)
    staged.origin.seq = publish.seq
    staged.origin.previous_seq = publish.previous_seq
    staged.origin.time_ns = publish.time_ns
    staged.origin.input = publish.input
    _piece(slot, NULL, sizeof(StagedHead), True)
    _piece(slot, publish.subject.chars, publish.subject.length, True)
    _piece(slot, publish.header.chars, publish.header.length + publish.payload.length, False)
    slot.staging.bytes += publish.subject.length + publish.header.length + publish.payload.length
    if slot.staging.bytes >= ENTRY_BYTES_MAX:
        slot_propose(engine, slot)
    return True


cdef void _tell_all(Engine* engine, Slot* slot, bint leads) noexcept nogil:
    """Tell publishers that their messages can't be stored, or not here."""
    cdef const char* at = slot.staging.replies
    cdef const char* end = at + slot.staging.reply_length
    cdef uint16_t length
    while at < end:
        memcpy(&length, at, 2)
        if length and leads:
            publish_refuse(engine, slot, at + 2, length, STORAGE_EXHAUSTED)
        elif length:
            publish_unserved(engine, slot, at + 2, length)
        at += length + 2


cdef void _empty(Slot* slot) noexcept nogil:
    slot.staging.piece_count = 0
    slot.staging.bytes = 0
    slot.staging.reply_length = 0
    made_free(&slot.staging)


cdef void staging_drop(Engine* engine, Slot* slot) noexcept nogil:
    """Forget what was not proposed of a stream that is led elsewhere now."""
    _tell_all(engine, slot, False)
    _empty(slot)


cdef void _refuse_all(Engine* engine, Slot* slot) noexcept nogil:
    """Tell publishers that their messages can't be stored."""
    cdef const StagedHead* heads = <const StagedHead*> slot.staging.heads
    cdef const LogPart* pieces = slot.staging.pieces
    cdef Publish publish
    cdef uint32_t piece = 1
    _tell_all(engine, slot, True)
    while piece < slot.staging.piece_count:
        publish.subject.length = heads[piece // PIECES].head.subject_length
        publish.header.length = heads[piece // PIECES].head.header_length & HEAD_LENGTH
        publish.payload.length = pieces[piece + 2].length - publish.header.length
        message_arrived(slot, &publish)
        piece += PIECES


cdef void _tell_full(Engine* engine, Slot* slot) noexcept nogil:
    """Say once that the disk is full."""
    cdef Answer* told = event_made(engine, EVENT_OUT_OF_STORAGE, slot.name.length)
    if told != NULL:
        memcpy(answer_bytes(told), slot.name.chars, slot.name.length)
        engine.is_full_told = True


cdef bint slot_propose(Engine* engine, Slot* slot) noexcept nogil:
    """Propose a stream's entry; False: the log has no room now."""
    cdef LogPart* pieces = slot.staging.pieces
    cdef const LogPart* parts = pieces
    cdef CompressedBatch compressed
    cdef BatchHead head
    cdef uint32_t at = 1, count = slot.staging.piece_count
    cdef uint16_t kind = BATCH
    if count == 0:
        return True
    if slot.is_saving:
        return False
    head.time_ns = engine.unix_ns
    head.applied = slot.group.applied
    head.last_seq = slot.stream.messages.last_seq
    pieces[0].chars = <const char*> &head
    while at < count:
        pieces[at].chars = <const char*> &(<StagedHead*> slot.staging.heads)[at // PIECES]
        at += PIECES
    if batch_compress(engine, slot, &compressed):
        compressed.head.batch = head
        parts, count, kind = compressed.parts, 2, COMPRESSED
    if not group_propose(engine, slot.group, kind, parts, count, NULL, slot.staging.replies, slot.staging.reply_length):
        if engine.log.refused == LOG_BUSY and not engine.log.failed:
            return False
        if engine.log.refused not in (LOG_UNKNOWN, LOG_NOT_LEADER):
            _refuse_all(engine, slot)
        elif engine.log.refused == LOG_NOT_LEADER:
            _tell_all(engine, slot, False)
        if engine.log.refused == LOG_FULL and not engine.is_full_told:
            _tell_full(engine, slot)
    else:
        engine.is_full_told = False
    _empty(slot)
    return True


cdef bint staging_propose(Engine* engine) noexcept nogil:
    """Propose the entries of all streams; False: one of them waits for room in the log, or for its segments to be written."""
    cdef Slot* slot
    while engine.staging != NULL:
        slot = engine.staging
        if segments_hold(engine, slot) or not slot_propose(engine, slot):
            return False
        engine.staging = slot.next_staging
        slot.is_staging = 0
    return True
