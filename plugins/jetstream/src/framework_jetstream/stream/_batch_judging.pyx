"""Whether a message of a batch will be stored, judged before any of the batch is: by the stream, and by those before it.

Source: nats-server `jetstream_batching.go`, `checkMsgHeadersPreClusteredProposal`.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from framework.sublist._bytes cimport hash_bytes
from framework.sublist._table cimport table_clear, table_find, table_make
from framework_jetstream.stream._counting cimport counter_text, write_counter
from framework_jetstream.stream._dedupe cimport dedupe_find
from framework_jetstream.stream._headers cimport TTL_INVALID, TTL_NONE, Text, seq_of_text, text_is, ttl_of_text
from framework_jetstream.stream._judging cimport refusal_of_counting, rollup_kind
from framework_jetstream.stream._machine cimport (
    BATCH_DUPLICATE, BATCH_ROLLUP_ALL, BATCH_ROLLUP_SUB, HEADER_TOO_LARGE, INCR_MISSING, LAST_SUBJECT_SEQ_MISSING, MAX_BYTES_REACHED,
    MAX_MSGS_PER_SUBJECT_REACHED, MAX_MSGS_REACHED, NO_MEMORY, ROLLUP_INVALID, ROLLUP_NOT_PERMITTED, SCHEDULER_INVALID,
    SOURCE_NOT_ALLOWED, STORED, TTL_DISABLED, TTL_UNREADABLE, WRONG_LAST_SEQ, WRONG_LAST_SEQ_CONSTANT, WRONG_STREAM, Limits,
    stream_last_seq_of,
)
from framework_jetstream.stream._messages cimport message_bytes, messages_subject
from framework_jetstream.stream._scheduling cimport refusal_of_schedule, refusal_of_scheduler
from framework_jetstream.store._subjects cimport Subject

cdef enum:
    HEADER_BYTES_MAX = 65535


cdef InBatch* _find(Stream* stream, Table* table, Text text) noexcept nogil:
    return <InBatch*> table_find(table, hash_bytes(stream.dedupe.seed, text.chars, text.length), text.chars, text.length)


cdef InBatch* _have(Stream* stream, BatchView* view, Table* table, Text text) noexcept nogil:
    """Return what is known of a text, and know it from now on; NULL: no memory."""
    cdef InBatch* found = _find(stream, table, text)
    if found != NULL:
        return found
    found = <InBatch*> table_make(
        table, sizeof(InBatch), 0, text.chars, text.length, hash_bytes(stream.dedupe.seed, text.chars, text.length)
    )
    if found != NULL:
        found.next = view.first
        view.first = found
    return found


cdef void view_free(BatchView* view) noexcept nogil:
    cdef InBatch* gone
    table_clear(&view.subjects)
    table_clear(&view.ids)
    table_clear(&view.expected)
    while view.first != NULL:
        gone = view.first
        view.first = gone.next
        free(gone.total)
        free(gone)


# ---- what a message says ---------------------------------------------------------------------------------------------------


cdef int _refusal_of_id(Stream* stream, BatchView* view, Text id, Outcome* outcome) noexcept nogil:
    """Judge an id: one that was stored already, or comes twice in the batch, is refused."""
    if id.chars == NULL:
        return STORED
    if _find(stream, &view.ids, id) != NULL:
        return BATCH_DUPLICATE
    if stream.limits.duplicate_window_ns > 0:
        outcome.seq = dedupe_find(&stream.dedupe, id.chars, id.length)
        if outcome.seq:
            return BATCH_DUPLICATE
    return STORED if _have(stream, view, &view.ids, id) != NULL else NO_MEMORY


cdef int _refusal_of_subject_seq(
    Stream* stream, BatchView* view, const Publish* message, PublishHeaders* headers, Outcome* outcome
) noexcept nogil:
    cdef Text subject = headers.expected_last_subject if headers.expected_last_subject.chars != NULL else message.subject
    cdef uint64_t wanted = seq_of_text(headers.expected_last_subject_seq)
    cdef InBatch* known
    if _find(stream, &view.subjects, subject) != NULL:
        return WRONG_LAST_SEQ_CONSTANT
    known = _find(stream, &view.expected, subject)
    outcome.seq = known.seq if known != NULL else stream_last_seq_of(stream, subject.chars, subject.length)
    if outcome.seq != wanted:
        return WRONG_LAST_SEQ
    known = _have(stream, view, &view.expected, subject)
    if known == NULL:
        return NO_MEMORY
    known.seq = wanted
    return STORED


cdef int _refusal_of_sequences(
    Stream* stream, BatchView* view, const Publish* message, PublishHeaders* headers, Outcome* outcome
) noexcept nogil:
    """Judge a message by the last sequences that it expects."""
    if headers.expected_last_seq.chars != NULL:
        outcome.seq = stream.messages.last_seq + view.count
        if seq_of_text(headers.expected_last_seq) != outcome.seq:
            return WRONG_LAST_SEQ
        if view.count:
            return WRONG_LAST_SEQ_CONSTANT
    if headers.expected_last_subject_seq.chars != NULL:
        return _refusal_of_subject_seq(stream, view, message, headers, outcome)
    return LAST_SUBJECT_SEQ_MISSING if headers.expected_last_subject.chars != NULL else STORED


cdef int _refusal_of_rollup(Stream* stream, BatchView* view, const Publish* message, Text rollup, Outcome* outcome) noexcept nogil:
    """Judge a rollup: of a subject or stream to which the batch has written before it is refused."""
    cdef int kind = rollup_kind(rollup)
    if rollup.chars == NULL:
        return STORED
    if not stream.limits.allow_rollup:
        return ROLLUP_NOT_PERMITTED
    if kind == 0:
        outcome.shown = rollup
        return ROLLUP_INVALID
    if kind == 1:
        return BATCH_ROLLUP_SUB if _find(stream, &view.subjects, message.subject) != NULL else STORED
    return BATCH_ROLLUP_ALL if view.count else STORED


cdef int _refusal_of_scheduler(Stream* stream, BatchView* view, const Publish* message, PublishHeaders* headers) noexcept nogil:
    """Judge which schedule a message ends: one that the batch has written, or one of the stream."""
    cdef InBatch* known = _find(stream, &view.subjects, headers.scheduler) if headers.scheduler.chars != NULL else NULL
    cdef int refusal = refusal_of_scheduler(stream, message, headers)
    if known == NULL or headers.schedule_next.chars == NULL or refusal not in (STORED, SCHEDULER_INVALID):
        return refusal
    return STORED if known.is_schedule else SCHEDULER_INVALID


cdef int _refusal_of_terms(Stream* stream, const Publish* message, PublishHeaders* headers) noexcept nogil:
    """Judge what a message asks of the stream itself."""
    cdef int64_t ttl_ns = ttl_of_text(headers.ttl)
    cdef int refusal
    if message.header.length > HEADER_BYTES_MAX:
        return HEADER_TOO_LARGE
    refusal = refusal_of_counting(stream, message, headers)
    if refusal != STORED:
        return refusal
    if headers.expected_stream.chars != NULL and not text_is(headers.expected_stream, stream.name, stream.name_length):
        return WRONG_STREAM
    if ttl_ns != TTL_NONE and not stream.limits.allow_ttl:
        return TTL_DISABLED
    return TTL_UNREADABLE if ttl_ns == TTL_INVALID else STORED


# ---- what it does ----------------------------------------------------------------------------------------------------------


cdef int _count_up(Stream* stream, BatchView* view, Publish* message, PublishHeaders* headers) noexcept nogil:
    """Let a message have what its subject's counter comes to in this batch; a `Refusal`."""
    cdef InBatch* known = _find(stream, &view.subjects, message.subject)
    cdef Text before, sources, value
    cdef int refusal = counter_text(stream, message.subject, &before, &sources)
    if headers.incr.chars == NULL:
        return INCR_MISSING
    if known != NULL and known.total != NULL:
        before.chars = known.total
        before.length = known.total_length
    elif refusal != STORED:
        return refusal
    refusal = write_counter(stream, message, headers, before, sources, &value)
    if refusal != STORED:
        return refusal
    known = _have(stream, view, &view.subjects, message.subject)
    if known == NULL:
        return NO_MEMORY
    free(known.total)
    known.total = <char*> malloc(value.length)
    known.total_length = value.length
    if known.total == NULL:
        return NO_MEMORY
    memcpy(known.total, value.chars, value.length)
    return STORED


cdef int _write(Stream* stream, BatchView* view, const Publish* message, PublishHeaders* headers) noexcept nogil:
    """Know of a message that will be stored, as far as it is not one too many; a `Refusal`."""
    cdef Limits* limits = &stream.limits
    cdef InBatch* known = _have(stream, view, &view.subjects, message.subject)
    cdef Subject* subject
    cdef uint64_t held
    if known == NULL:
        return NO_MEMORY
    known.count += 1
    known.is_schedule = headers.schedule.chars != NULL
    view.count += 1
    view.bytes += message_bytes(&stream.messages, message.subject.length, message.header.length, message.payload.length)
    if not limits.discard_new:
        return STORED
    if limits.max_msgs > 0 and stream.messages.count + view.count > <uint64_t> limits.max_msgs:
        return MAX_MSGS_REACHED
    if limits.max_bytes > 0 and stream.messages.bytes + view.bytes > <uint64_t> limits.max_bytes:
        return MAX_BYTES_REACHED
    if limits.discard_new_per_subject and limits.max_msgs_per_subject > 0 and headers.rollup.chars == NULL:
        subject = messages_subject(&stream.messages, message.subject.chars, message.subject.length)
        held = subject.count if subject != NULL else 0
        if held + known.count > <uint64_t> limits.max_msgs_per_subject:
            return MAX_MSGS_PER_SUBJECT_REACHED
    return STORED


cdef int refusal_in_batch(
    Stream* stream, BatchView* view, Publish* message, PublishHeaders* headers, int64_t now_ns, Outcome* outcome
) noexcept nogil:
    """Judge the next message of a batch, behind those that the view has judged; a `Refusal`.

    Args:
        message: As it will be stored, but for what its counter comes to.
        headers: All absent, if it has none.
    """
    cdef int refusal = _refusal_of_terms(stream, message, headers)
    if refusal == STORED:
        refusal = _refusal_of_id(stream, view, headers.msg_id, outcome)
    if refusal == STORED and headers.stream_source.chars != NULL:
        refusal = SOURCE_NOT_ALLOWED
    if refusal == STORED and stream.limits.allow_counter:
        refusal = _count_up(stream, view, message, headers)
    if refusal == STORED:
        refusal = _refusal_of_sequences(stream, view, message, headers, outcome)
    if refusal == STORED:
        refusal = refusal_of_schedule(stream, message, headers, now_ns)
    if refusal == STORED:
        refusal = _refusal_of_scheduler(stream, view, message, headers)
    if refusal == STORED:
        refusal = _refusal_of_rollup(stream, view, message, headers.rollup, outcome)
    if refusal == STORED:
        refusal = _write(stream, view, message, headers)
    return refusal
