"""What Python asks of a stream: to open, change and end it, to say how it is, to purge, get and delete."""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

from framework_jetstream.engine._accounts cimport slot_count_out
from framework_jetstream.engine._advisories cimport advise_abandoned
from framework_jetstream.engine._alarms cimport alarm_join, alarm_leave, alarm_set
from framework_jetstream.engine._answers cimport answer_bytes, answer_made
from framework_jetstream.engine._consumer_commands cimport consumer_close, consumers_purged
from framework_jetstream.engine._direct cimport slot_may_read
from framework_jetstream.engine._groups cimport STATUS_NOT_LEADER, group_speaks
from framework_jetstream.engine._json cimport write_json_text
from framework_jetstream.engine._publishing cimport message_stored
from framework_jetstream.engine._reading cimport reading_begin
from framework_jetstream.engine._doubts cimport doubts_free
from framework_jetstream.engine._retention cimport removals_forget, retention_review
from framework_jetstream.engine._segments cimport segments_leave
from framework_jetstream.engine._serving cimport follow_direct, follow_subjects, text_copied
from framework_jetstream.engine._state cimport (
    CLOSE_STREAM, DELETE_MESSAGE, KEPT_IN_FILES, KEPT_NOWHERE, LIST_DELETED, LIST_SUBJECTS, PURGE, STREAM_STATE, UPDATE_STREAM, Answer,
    Waiting, command_free, command_text, slot_of, staging_free,
)
from framework_jetstream.engine._wakes cimport wake_at_unix
from framework_jetstream.sourcing._inputs cimport inputs_close, inputs_size, inputs_write
from framework_jetstream.stream._batches cimport ABANDONED_TIMEOUT, Batch, batch_before, batch_drop, batches_touched_ns
from framework_jetstream.stream._expiring cimport stream_expire
from framework_jetstream.stream._fast_batches cimport fast_drop_before, fast_touched_ns
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._machine cimport (
    RETENTION_INTEREST, Limits, stream_begin, stream_delete, stream_free, stream_last_seq_of, stream_purge,
    stream_set_limits,
)
from framework_jetstream.store._subjects cimport Subject, marks_clear, number_is_marked, subject_chars, subjects_mark, subjects_next
from framework_jetstream.stream._messages cimport (
    Messages, Record, messages_first, messages_get, messages_next, messages_next_matching, record_header, record_is_absent,
    record_payload,
)

cdef enum:
    DELETED_MAX = 1000000
    # Sequences in one answer.
    NOT_THERE = 1
    EXPIRE_NS = 250000000
    # In files what is too old is removed at most so often, for each time is a write. nats-server looks as often.

cdef int64_t NEVER = <int64_t> 0x7fffffffffffffff


# ---- opening and ending ------------------------------------------------------------------------------------------------


cdef bint _make_room(Engine* engine, uint32_t number) noexcept nogil:
    cdef uint32_t room = max(number + 1, engine.slot_count * 2)
    cdef void* grown
    if number < engine.slot_count:
        return True
    grown = realloc(engine.slots, room * sizeof(Slot*))
    if grown == NULL:
        return False
    engine.slots = <Slot**> grown
    while engine.slot_count < room:
        engine.slots[engine.slot_count] = NULL
        engine.slot_count += 1
    return True


cdef Slot* slot_made(
    Engine* engine, uint32_t number, const char* name, size_t length, const Limits* limits, int kept, uint64_t first_seq
) noexcept nogil:
    """Make a stream that nobody can reach yet, `kept` as `Kept` says; NULL: no memory."""
    cdef Slot* slot = <Slot*> calloc(1, sizeof(Slot)) if _make_room(engine, number) else NULL
    if slot == NULL or not alarm_join(&engine.expiries, &slot.expiry, slot):
        free(slot)
        return NULL
    slot.number = number
    slot.engine = engine
    slot.name = text_copied(name, length)
    stream_begin(&slot.stream, limits, slot.name.chars, slot.name.length, engine.seed, kept == KEPT_IN_FILES, first_seq)
    slot.stream.owner = slot
    slot.stream.stored = message_stored
    slot.kept = kept
    slot.stream.stores_all = kept != KEPT_NOWHERE
    if kept != KEPT_NOWHERE:
        reading_begin(engine, slot)
    slot.expires_ns = NEVER
    _write_ack_parts(engine, slot)
    engine.slots[number] = slot
    return slot


cdef uint32_t _write_name(char* to, Slot* slot) noexcept nogil:
    """Write a stream's name as part of a JSON string: of what JSON escapes it may have but quotation marks."""
    cdef uint32_t at, used = 0
    for at in range(slot.name.length):
        if slot.name.chars[at] == b"\"":
            to[used] = c"\\"
            used += 1
        to[used] = slot.name.chars[at]
        used += 1
    return used


cdef void _write_ack_parts(Engine* engine, Slot* slot) noexcept nogil:
    """Write what PubAcks of a stream have in common."""
    cdef char* room = <char*> malloc(slot.name.length * 2 + 64 + engine.domain.length * 6)
    cdef char* refused = <char*> malloc(slot.name.length * 2 + 64)
    cdef uint32_t length
    if room == NULL or refused == NULL:
        free(room)
        free(refused)
        return
    memcpy(room, b"{\"stream\":\"", 11)
    length = _write_name(room + 11, slot)
    slot.ack.chars = room
    slot.ack.length = length + 11
    if engine.domain.length:
        memcpy(room + slot.ack.length, b"\",\"domain\":\"", 12)
        slot.ack.length += 12
        slot.ack.length += write_json_text(room + slot.ack.length, engine.domain)
    memcpy(room + slot.ack.length, b"\",\"seq\":", 8)
    slot.ack.length += 8
    memcpy(refused, b",\"stream\":\"", 11)
    _write_name(refused + 11, slot)
    memcpy(refused + 11 + length, b"\",\"seq\":0}", 10)
    slot.ack_refused.chars = refused
    slot.ack_refused.length = length + 21


cdef void slot_close(Engine* engine, Slot* slot) noexcept nogil:
    """End a stream with its consumers, and forget its messages."""
    while slot.consumers != NULL:
        consumer_close(engine, slot.consumers)
    inputs_close(engine, slot)
    follow_subjects(engine, slot, NULL, 0)
    follow_direct(engine, slot, False)
    engine.slots[slot.number] = NULL
    if slot.is_staging:
        _leave_staging(engine, slot)
    alarm_leave(&engine.expiries, &slot.expiry)
    removals_forget(engine, slot)
    doubts_free(engine, slot)
    slot_count_out(slot)
    _waiting_free(engine, slot)
    staging_free(&slot.staging)
    segments_leave(engine, slot)
    command_free(slot.opened)
    if slot.group != NULL and slot.group.replica != NULL:
        slot.group.replica.raft.digests = NULL
    free(slot.stream.digests)
    stream_free(&slot.stream)
    free(<void*> slot.ack.chars)
    free(<void*> slot.ack_refused.chars)
    free(<void*> slot.name.chars)
    free(slot)


cdef void _leave_staging(Engine* engine, Slot* slot) noexcept nogil:
    cdef Slot** at = &engine.staging
    while at[0] != slot:
        at = &at[0].next_staging
    at[0] = slot.next_staging


cdef void _waiting_free(Engine* engine, Slot* slot) noexcept nogil:
    """Tell those who wait for a stream that it is gone."""
    cdef Waiting* waiting = slot.reading
    while waiting != NULL:
        engine.reads_waiting -= waiting.command == NULL
        waiting = waiting.next
    waiting_tell(engine, slot.waiting)
    waiting_tell(engine, slot.reading)


cdef void waiting_tell(Engine* engine, Waiting* waiting) noexcept nogil:
    """Tell a chain of those who wait that what they wait for is gone, and free it."""
    cdef Waiting* gone
    while waiting != NULL:
        gone = waiting
        waiting = gone.next
        if gone.command != NULL:
            answer_made(engine, gone.command.id, NOT_THERE, 0)
            command_free(gone.command)
        free(gone.progress.seqs)
        free(gone)


cdef void slot_end_old(Engine* engine, Slot* slot, int64_t now_ns, int64_t batch_timeout_ns) noexcept nogil:
    """Remove what is too old, and forget batches of which nothing has come for too long; a timeout of 0: none."""
    cdef Batch* batch
    cdef Text id
    stream_expire(&slot.stream, now_ns)
    if batch_timeout_ns <= 0:
        return
    fast_drop_before(&slot.stream.fast_batches, now_ns - batch_timeout_ns)
    batch = batch_before(&slot.stream.batches, now_ns - batch_timeout_ns)
    while batch != NULL:
        id.chars = batch.id
        id.length = batch.id_length
        if group_speaks(engine, slot.group):
            advise_abandoned(engine, slot, id, ABANDONED_TIMEOUT)
        batch_drop(&slot.stream.batches, batch)
        batch = batch_before(&slot.stream.batches, now_ns - batch_timeout_ns)


cdef void slot_expire(Engine* engine, Slot* slot) noexcept nogil:
    """Remove what is too old, and wake up for what will be; of a stream in files only find out when."""
    cdef int64_t batches_ns
    if slot.group == NULL:
        slot_end_old(engine, slot, engine.unix_ns, engine.batch_terms.timeout_ns)
    batches_ns = min(batches_touched_ns(&slot.stream.batches), fast_touched_ns(&slot.stream.fast_batches))
    slot.expires_ns = stream_expire(&slot.stream, 0)
    if batches_ns < NEVER:
        slot.expires_ns = min(slot.expires_ns, batches_ns + engine.batch_terms.timeout_ns)
    if slot.group != NULL:
        slot.expires_ns = max(slot.expires_ns, slot.expired_ns + EXPIRE_NS)
    alarm_set(&engine.expiries, &slot.expiry, slot.expires_ns)
    wake_at_unix(engine, slot.expires_ns)


cdef void stream_update(Engine* engine, Slot* slot, Command* command, int64_t now_ns) noexcept nogil:
    """Change limits, and follow other subjects, which are the second text; answer."""
    cdef bint is_new_interest = (
        command.limits.retention == RETENTION_INTEREST and slot.stream.limits.retention != RETENTION_INTEREST
    )
    stream_set_limits(&slot.stream, &command.limits, now_ns)
    follow_subjects(engine, slot, command_text(command, 1), command.lengths[1])
    follow_direct(engine, slot, slot.stream.limits.allow_direct != 0)
    if is_new_interest:
        retention_review(slot, 0)
    slot_expire(engine, slot)
    answer_made(engine, command.id, 0, 0)


cdef void stream_purged(
    Engine* engine, Slot* slot, const char* pattern, size_t length, uint64_t seq, uint64_t keep, Command* command
) noexcept nogil:
    """Purge a stream, and answer how much; `command` NULL: nobody asked."""
    cdef uint64_t purged = stream_purge(&slot.stream, pattern, length, seq, keep)
    cdef Answer* answer
    if purged or length == 0:
        consumers_purged(slot)
    answer = answer_made(engine, command.id, 0, 0) if command != NULL else NULL
    if answer != NULL:
        answer.numbers[0] = <int64_t> purged


cdef void stream_deleted(Engine* engine, Slot* slot, uint64_t seq, Command* command) noexcept nogil:
    """Delete a message, and answer whether it was there, the last sequence and the first one; `command` NULL: nobody asked."""
    cdef bint was_there = stream_delete(&slot.stream, seq)
    cdef Answer* answer = NULL
    if command != NULL:
        answer = answer_made(engine, command.id, 0 if was_there else NOT_THERE, 0)
    if answer != NULL:
        answer.numbers[0] = <int64_t> slot.stream.messages.last_seq
        answer.numbers[1] = <int64_t> slot.stream.messages.first_seq


# ---- saying how it is --------------------------------------------------------------------------------------------------


cdef void _say_state(Engine* engine, Slot* slot, int64_t id) noexcept nogil:
    """Answer messages, bytes, first sequence and time, last ones, subjects, deleted messages; a time of 0 is none.

    Bytes are its sources, as `inputs_write` has them.
    """
    cdef Answer* answer = answer_made(engine, id, 0, inputs_size(slot))
    cdef Messages* messages = &slot.stream.messages
    cdef Record first = messages_first(messages)
    if answer == NULL:
        return
    answer.numbers[0] = <int64_t> messages.count
    answer.numbers[1] = <int64_t> messages.bytes
    answer.numbers[2] = <int64_t> messages.first_seq
    answer.numbers[3] = first.time_ns
    answer.numbers[4] = <int64_t> messages.last_seq
    answer.numbers[5] = messages.last_time_ns
    answer.numbers[6] = <int64_t> messages.subjects.count
    if messages.count:
        answer.numbers[7] = <int64_t> (messages.last_seq - messages.first_seq + 1 - messages.count)
    inputs_write(engine, slot, answer_bytes(answer))


cdef void _say_subjects(Engine* engine, Slot* slot, int64_t id, const char* pattern, size_t length) noexcept nogil:
    """Answer subjects that a pattern holds: count (8 bytes), length (4 bytes) and text of each, in no order."""
    cdef Messages* messages = &slot.stream.messages
    cdef size_t size = 0
    cdef uint32_t at = 0
    cdef Subject* subject
    cdef Answer* answer
    cdef char* to
    marks_clear(&messages.subjects)
    subjects_mark(&messages.subjects, pattern, length)
    subject = subjects_next(&messages.subjects, &at)
    while subject != NULL:
        if number_is_marked(&messages.subjects, subject.number):
            size += 12 + subject.length
        subject = subjects_next(&messages.subjects, &at)
    answer = answer_made(engine, id, 0, size)
    if answer == NULL:
        return
    to = answer_bytes(answer)
    at = 0
    subject = subjects_next(&messages.subjects, &at)
    while subject != NULL:
        if number_is_marked(&messages.subjects, subject.number):
            memcpy(to, &subject.count, 8)
            memcpy(to + 8, &subject.length, 4)
            memcpy(to + 12, subject_chars(subject), subject.length)
            to += 12 + subject.length
        subject = subjects_next(&messages.subjects, &at)


cdef void _say_deleted(Engine* engine, Slot* slot, int64_t id) noexcept nogil:
    """Answer the sequences between the first and the last message that have none, 8 bytes each."""
    cdef Messages* messages = &slot.stream.messages
    cdef uint64_t seq = messages.first_seq, count = 0
    cdef Record following
    cdef Answer* answer
    cdef char* to
    if messages.count:
        count = min(messages.last_seq - messages.first_seq + 1 - messages.count, <uint64_t> DELETED_MAX)
    answer = answer_made(engine, id, 0, count * 8)
    if answer == NULL:
        return
    to = answer_bytes(answer)
    while count:
        following = messages_next(messages, seq)
        while count and seq != following.seq:
            memcpy(to, &seq, 8)
            to += 8
            count -= 1
            seq += 1
        seq += 1


cdef void _say_message(Engine* engine, Slot* slot, int64_t id, const Record* record) noexcept nogil:
    """Answer a message: sequence, time, lengths of subject and header; then subject, header and payload."""
    cdef Answer* answer
    cdef char* to
    if record.seq == 0:
        answer_made(engine, id, NOT_THERE, 0)
        return
    answer = answer_made(engine, id, 0, record.subject.length + record.header_length + record.payload_length)
    if answer == NULL:
        return
    answer.numbers[0] = <int64_t> record.seq
    answer.numbers[1] = record.time_ns
    answer.numbers[2] = record.subject.length
    answer.numbers[3] = record.header_length
    to = answer_bytes(answer)
    memcpy(to, subject_chars(record.subject), record.subject.length)
    to += record.subject.length
    memcpy(to, record_header(record), record.header_length)
    memcpy(to + record.header_length, record_payload(record), record.payload_length)


cdef Record _wanted(Slot* slot, Command* command) noexcept nogil:
    """Return a message: by sequence, the last of a subject, or the next of one from a sequence on."""
    cdef Messages* messages = &slot.stream.messages
    cdef uint64_t seq = <uint64_t> command.numbers[0]
    cdef Text pattern
    if command.lengths[0] == 0:
        return messages_get(messages, seq)
    if command.numbers[1]:
        return messages_get(messages, stream_last_seq_of(&slot.stream, command_text(command, 0), command.lengths[0]))
    pattern.chars = command_text(command, 0)
    pattern.length = <uint32_t> command.lengths[0]
    return messages_next_matching(messages, seq, &pattern, 1)


# ---- all of them -------------------------------------------------------------------------------------------------------


cdef uint64_t message_get(Engine* engine, Command* command) noexcept nogil:
    """Answer with a message; if it is not in memory there is no answer, and its sequence is returned, else 0."""
    cdef Slot* slot = slot_of(engine, command.number)
    cdef Record record
    if slot == NULL:
        answer_made(engine, command.id, NOT_THERE, 0)
        return 0
    if not slot_may_read(slot):
        answer_made(engine, command.id, STATUS_NOT_LEADER, 0)
        return 0
    record = _wanted(slot, command)
    if record_is_absent(&record):
        return record.seq
    _say_message(engine, slot, command.id, &record)
    return 0


cdef void stream_command(Engine* engine, Command* command) noexcept nogil:
    """Carry out a command to a stream, and answer it; status 1: what it is about is not there."""
    cdef Slot* slot = slot_of(engine, command.number)
    if slot == NULL:
        answer_made(engine, command.id, NOT_THERE, 0)
    elif command.verb == UPDATE_STREAM:
        stream_update(engine, slot, command, engine.unix_ns)
    elif command.verb == CLOSE_STREAM:
        slot_close(engine, slot)
        answer_made(engine, command.id, 0, 0)
    elif command.verb == STREAM_STATE:
        _say_state(engine, slot, command.id)
    elif command.verb == LIST_SUBJECTS:
        _say_subjects(engine, slot, command.id, command_text(command, 0), command.lengths[0])
    elif command.verb == LIST_DELETED:
        _say_deleted(engine, slot, command.id)
    elif command.verb == PURGE:
        stream_purged(
            engine, slot, command_text(command, 0), command.lengths[0], <uint64_t> command.numbers[0], <uint64_t> command.numbers[1],
            command,
        )
    elif command.verb == DELETE_MESSAGE:
        stream_deleted(engine, slot, <uint64_t> command.numbers[0], command)
