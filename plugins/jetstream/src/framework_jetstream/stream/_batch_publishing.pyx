"""Messages that belong to a batch: each waits until the one that commits it, then all are judged, then all are stored.

A batch is begun, told apart and forgotten by entries alone. That nothing has come of it for too long is one of them, too.

Source: ADR-50; nats-server `stream.go`, `processJetStreamAtomicBatchMsg`.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from framework_jetstream.stream._batch_judging cimport BatchView, refusal_in_batch, view_free
from framework_jetstream.stream._batches cimport (
    ABANDONED_INCOMPLETE, ABANDONED_LARGE, ABANDONED_UNSUPPORTED, BATCH_ID_MAX, Batch, Staged, batch_add, batch_drop, batch_find,
    batch_stage, staged_header, staged_payload, staged_subject,
)
from framework_jetstream.stream._counting cimport count_up
from framework_jetstream.stream._header_changes cimport header_add, header_drop
from framework_jetstream.stream._headers cimport Text, headers_read, seq_of_text, text_is
from framework_jetstream.stream._judging cimport has_size
from framework_jetstream.stream._machine cimport (
    ACCOUNT_EXHAUSTED, ATOMIC_DISABLED, BATCH_COMMIT_INVALID, BATCH_ID_INVALID, BATCH_INCOMPLETE, BATCH_LEVEL, BATCH_SEQ_MISSING,
    BATCH_TOO_LARGE, BATCH_TOO_MANY, BATCH_UNSUPPORTED_HEADER, MARK_ACCOUNT_FULL, MARK_BATCH_LARGE, MARK_BATCHES_FULL, MARK_SERVER_FULL,
    MESSAGE_TOO_LARGE, NO_MEMORY, SEALED, STORAGE_EXHAUSTED, STORED, message_transform, stream_store,
)

cdef uint64_t NO_NUMBER = <uint64_t> -1


cdef int _refusal_of_stream(Stream* stream, const Publish* publish, PublishHeaders* headers) noexcept nogil:
    """Judge a message before it is looked which batch it belongs to."""
    if stream.limits.sealed:
        return SEALED
    if publish.marks & MARK_SERVER_FULL:
        return STORAGE_EXHAUSTED
    if publish.marks & MARK_ACCOUNT_FULL:
        return ACCOUNT_EXHAUSTED
    if not has_size(stream, publish):
        return MESSAGE_TOO_LARGE
    if not stream.limits.allow_atomic:
        return ATOMIC_DISABLED
    if headers.batch_id.length > BATCH_ID_MAX:
        return BATCH_ID_INVALID
    return BATCH_SEQ_MISSING if seq_of_text(headers.batch_seq) == NO_NUMBER else STORED


cdef bint needs_more(Stream* stream, Text level) noexcept nogil:
    """Whether a message needs a level of the API that this server has not; what is no number is one."""
    return level.chars != NULL and seq_of_text(level) > <uint64_t> stream.limits.api_level


cdef int _refusal_of_place(
    Stream* stream, Batch* batch, const Publish* publish, PublishHeaders* headers, bint is_eob, Outcome* outcome
) noexcept nogil:
    """Judge a message by its place in its batch; what is against it ends that."""
    cdef uint64_t seq = seq_of_text(headers.batch_seq)
    if headers.batch_commit.chars != NULL and not is_eob and not text_is(headers.batch_commit, b"1", 1):
        return BATCH_COMMIT_INVALID
    if needs_more(stream, headers.required_level):
        outcome.abandoned = ABANDONED_UNSUPPORTED
        return BATCH_LEVEL
    batch.last_seq += 1
    if batch.last_seq != seq or (seq == 1 and is_eob):
        outcome.abandoned = ABANDONED_INCOMPLETE
        return BATCH_INCOMPLETE
    if publish.marks & MARK_BATCH_LARGE:
        outcome.abandoned = ABANDONED_LARGE
        return BATCH_TOO_LARGE
    return STORED


cdef int _refusal_of_beginning(Stream* stream, const Publish* publish, PublishHeaders* headers) noexcept nogil:
    """Judge a message whose batch is not known."""
    if seq_of_text(headers.batch_seq) != 1:
        return BATCH_TOO_LARGE if publish.marks & MARK_BATCH_LARGE else BATCH_INCOMPLETE
    return BATCH_TOO_MANY if publish.marks & MARK_BATCHES_FULL else STORED


cdef bint _stage(Stream* stream, Batch* batch, const Publish* publish, PublishHeaders* headers, int64_t now_ns) noexcept nogil:
    """Let a message wait; False: no memory."""
    cdef Text header = publish.header
    batch.touched_ns = now_ns
    if headers.required_level.chars != NULL and not header_drop(stream.header_rooms, &header, b"Nats-Required-Api-Level"):
        return False
    return batch_stage(&stream.batches, batch, publish.subject, header, publish.payload)


# ---- committing ------------------------------------------------------------------------------------------------------------


cdef void _read(const Staged* staged, Publish* message, PublishHeaders* headers) noexcept nogil:
    """Take a message up again."""
    memset(message, 0, sizeof(Publish))
    memset(headers, 0, sizeof(PublishHeaders))
    message.subject = staged_subject(staged)
    message.header = staged_header(staged)
    message.payload = staged_payload(staged)
    if message.header.length:
        headers_read(headers, message.header.chars, message.header.length)


cdef int _refusal_of_all(Stream* stream, Batch* batch, int64_t now_ns, Outcome* outcome) noexcept nogil:
    """Judge all messages of a batch."""
    cdef BatchView view
    cdef PublishHeaders headers
    cdef Publish message
    cdef Staged* staged = batch.first
    cdef int refusal = STORED
    memset(&view, 0, sizeof(view))
    while staged != NULL and refusal == STORED:
        _read(staged, &message, &headers)
        message_transform(stream, &message, now_ns)
        if headers.expected_last_msg_id.chars != NULL:
            outcome.shown.chars = b"Nats-Expected-Last-Msg-Id"
            outcome.shown.length = 25
            refusal = BATCH_UNSUPPORTED_HEADER
        else:
            refusal = refusal_in_batch(stream, &view, &message, &headers, now_ns, outcome)
        staged = staged.next
    view_free(&view)
    return refusal


cdef int _store_all(Stream* stream, Batch* batch, bint is_eob, int64_t now_ns, Outcome* outcome) noexcept nogil:
    """Store all messages of a batch."""
    cdef PublishHeaders headers
    cdef Publish message
    cdef Staged* staged = batch.first
    cdef Text one, value
    cdef int refusal = STORED
    one.chars = b"1"
    one.length = 1
    while staged != NULL and refusal == STORED:
        _read(staged, &message, &headers)
        if is_eob and staged.next == NULL and not header_add(stream.header_rooms, &message.header, b"Nats-Batch-Commit", one):
            return NO_MEMORY
        message_transform(stream, &message, now_ns)
        if stream.limits.allow_counter:
            refusal = count_up(stream, &message, &headers, &value)
        if refusal == STORED:
            refusal = stream_store(stream, &message, &headers, now_ns, outcome)
        staged = staged.next
    return refusal


cdef int _commit(Stream* stream, Batch* batch, bint is_eob, int64_t now_ns, Outcome* outcome) noexcept nogil:
    cdef int refusal = _refusal_of_all(stream, batch, now_ns, outcome)
    if refusal == STORED:
        refusal = _store_all(stream, batch, is_eob, now_ns, outcome)
    outcome.batch_count = batch.last_seq - is_eob
    return refusal


cdef void batch_publish(
    Stream* stream, const Publish* publish, PublishHeaders* headers, int64_t now_ns, Outcome* outcome
) noexcept nogil:
    """Let a message wait in its batch, or commit that.

    Args:
        outcome: Is filled in.
    """
    cdef Batch* batch = NULL
    cdef bint is_eob = text_is(headers.batch_commit, b"eob", 3)
    outcome.batch_id = headers.batch_id
    outcome.refusal = _refusal_of_stream(stream, publish, headers)
    if outcome.refusal != STORED:
        return
    batch = batch_find(&stream.batches, headers.batch_id)
    if batch == NULL:
        outcome.refusal = _refusal_of_beginning(stream, publish, headers)
        if outcome.refusal != STORED:
            return
        batch = batch_add(&stream.batches, headers.batch_id)
        if batch == NULL:
            outcome.refusal = NO_MEMORY
            return
    outcome.refusal = _refusal_of_place(stream, batch, publish, headers, is_eob, outcome)
    if outcome.refusal == STORED and not is_eob and not _stage(stream, batch, publish, headers, now_ns):
        outcome.refusal = NO_MEMORY
    if outcome.refusal == STORED and headers.batch_commit.chars == NULL:
        outcome.is_staged = 1
        return
    if outcome.refusal == STORED:
        outcome.refusal = _commit(stream, batch, is_eob, now_ns, outcome)
    batch_drop(&stream.batches, batch)
