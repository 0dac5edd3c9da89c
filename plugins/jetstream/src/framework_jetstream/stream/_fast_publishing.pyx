"""Messages of batches that are stored as they come. What a client hears of one is what `Outcome.flows` says, in that order.

Source: ADR-50, fast ingest; nats-server `stream.go`, `processJetStreamFastBatchMsg`; `jetstream_batching.go`.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memset

from framework_jetstream.stream._batch_judging cimport BatchView, refusal_in_batch, view_free
from framework_jetstream.stream._batch_publishing cimport needs_more
from framework_jetstream.stream._batches cimport BATCH_ID_MAX
from framework_jetstream.stream._counting cimport count_up
from framework_jetstream.stream._fast_batches cimport (
    FAST_BAD, FAST_NOT, Fast, FastPlace, fast_add, fast_drop, fast_find, fast_flows, fast_read,
)
from framework_jetstream.stream._header_changes cimport header_drop
from framework_jetstream.stream._headers cimport Text, text_is
from framework_jetstream.stream._judging cimport has_size
from framework_jetstream.stream._machine cimport (
    ACCOUNT_EXHAUSTED, BATCH_DUPLICATE, BATCH_LEVEL, FAST_DISABLED, FAST_ID_INVALID, FAST_PATTERN_INVALID, FAST_TOO_MANY, FAST_UNKNOWN,
    FLOW_ACK, FLOW_DONE, FLOW_ERROR, FLOW_GAP, FLOWS_MAX, MARK_ACCOUNT_FULL, MARK_BATCHES_FULL, MARK_SERVER_FULL, MESSAGE_TOO_LARGE,
    NO_MEMORY, SEALED, STORAGE_EXHAUSTED, STORED, WRONG_LAST_MSG_ID, message_transform, stream_store,
)


cdef bint is_fast(const Publish* publish) noexcept nogil:
    """Whether a message belongs to such a batch, or says so in words that make no sense."""
    cdef FastPlace place
    return publish.reply.length > 0 and fast_read(publish.reply, &place) != FAST_NOT


cdef void _say(Outcome* outcome, uint8_t kind, uint64_t first, uint64_t second) noexcept nogil:
    if outcome.flow_count < FLOWS_MAX:
        outcome.flows[outcome.flow_count].kind = kind
        outcome.flows[outcome.flow_count].first = first
        outcome.flows[outcome.flow_count].second = second
        outcome.flow_count += 1


cdef void _flow(Stream* stream, Fast* batch, Outcome* outcome) noexcept nogil:
    """Tell a client how far its batch is, if it is time for that."""
    if fast_flows(&stream.fast_batches, batch):
        _say(outcome, FLOW_ACK, batch.flow_seq, batch.every)


cdef bint _commit(Stream* stream, Fast* batch, Outcome* outcome) noexcept nogil:
    """Take no more; True: all is stored, and the batch is forgotten."""
    batch.is_committed = 1
    if batch.last_seq != batch.stored_seq:
        return False
    _say(outcome, FLOW_DONE, batch.stream_seq, batch.last_seq)
    fast_drop(&stream.fast_batches, batch)
    return True


cdef int _refusal_of_stream(Stream* stream, const Publish* publish, FastPlace* place) noexcept nogil:
    """Judge a message before it is looked which batch it belongs to; its place is read."""
    cdef int fastness
    if stream.limits.sealed:
        return SEALED
    if publish.marks & MARK_SERVER_FULL:
        return STORAGE_EXHAUSTED
    if publish.marks & MARK_ACCOUNT_FULL:
        return ACCOUNT_EXHAUSTED
    if not has_size(stream, publish):
        return MESSAGE_TOO_LARGE
    if not stream.limits.allow_batched:
        return FAST_DISABLED
    fastness = fast_read(publish.reply, place)
    if fastness == FAST_BAD:
        return FAST_PATTERN_INVALID
    return FAST_ID_INVALID if place.id.length > BATCH_ID_MAX else STORED


cdef int _begin(Stream* stream, const Publish* publish, const FastPlace* place, Fast** batch) noexcept nogil:
    """Find the batch of a message, or begin it; a `Refusal`."""
    batch[0] = fast_find(&stream.fast_batches, place.id)
    if batch[0] != NULL:
        return STORED
    if place.seq != 1 or place.is_ping:
        return FAST_UNKNOWN
    if publish.marks & MARK_BATCHES_FULL:
        return FAST_TOO_MANY
    batch[0] = fast_add(&stream.fast_batches, place)
    return STORED if batch[0] != NULL else NO_MEMORY


cdef void _answer_ping(Stream* stream, Fast* batch, const FastPlace* place, Outcome* outcome) noexcept nogil:
    """Say how far a batch is, and whether something of it has not come."""
    if place.seq > batch.last_seq:
        _say(outcome, FLOW_GAP, batch.last_seq + 1, place.seq + 1)
        if batch.gap_is_good:
            batch.last_seq = place.seq
            if batch.pending == 0:
                batch.stored_seq = batch.last_seq
            if fast_flows(&stream.fast_batches, batch):
                _say(outcome, FLOW_ACK, batch.flow_seq, batch.every)
                return
        elif _commit(stream, batch, outcome):
            return
    _say(outcome, FLOW_ACK, batch.flow_seq, batch.every)


cdef bint _follows(Stream* stream, Fast* batch, const FastPlace* place, Outcome* outcome) noexcept nogil:
    """Whether a message is the next one of its batch, or may be; otherwise the batch ends before it."""
    batch.last_seq += 1
    if batch.last_seq == place.seq:
        return True
    _say(outcome, FLOW_GAP, batch.last_seq, place.seq)
    if batch.gap_is_good and place.seq > batch.last_seq:
        batch.last_seq = place.seq
        return True
    batch.last_seq -= 1
    _commit(stream, batch, outcome)
    return False


cdef void _step_back(Fast* batch) noexcept nogil:
    """Let the last message be none of a batch."""
    batch.last_seq -= 1
    if batch.pending == 0:
        batch.stored_seq = batch.last_seq


# ---- storing ---------------------------------------------------------------------------------------------------------------


cdef int _refusal(Stream* stream, const Publish* publish, PublishHeaders* headers, int64_t now_ns, Outcome* outcome) noexcept nogil:
    """Judge a message by itself."""
    cdef BatchView view
    cdef Publish message = publish[0]
    cdef int refusal
    memset(&view, 0, sizeof(view))
    message_transform(stream, &message, now_ns)
    refusal = refusal_in_batch(stream, &view, &message, headers, now_ns, outcome)
    view_free(&view)
    return refusal


cdef void _refuse(Stream* stream, Fast* batch, const FastPlace* place, int refusal, Outcome* outcome) noexcept nogil:
    """Say what is against a message; where gaps are not good it ends its batch. A duplicate is as good as stored."""
    cdef bint is_duplicate = refusal == BATCH_DUPLICATE
    if is_duplicate and batch.pending == 0:
        batch.stored_seq = place.seq
        _flow(stream, batch, outcome)
    if is_duplicate and not place.commits:
        return
    if not place.gap_is_good and batch.last_seq == 1:
        outcome.is_silent = 0
        outcome.is_duplicate = is_duplicate and outcome.seq > 0
        outcome.refusal = STORED if outcome.is_duplicate else refusal
        outcome.batch_count = place.seq
        fast_drop(&stream.fast_batches, batch)
        return
    if not is_duplicate:
        outcome.refusal = refusal
        _say(outcome, FLOW_ERROR, place.seq, 0)
        if place.gap_is_good and not place.commits:
            return
        _step_back(batch)
    elif place.gap_is_good and not place.commits:
        return
    _commit(stream, batch, outcome)


cdef int _store(Stream* stream, const Publish* publish, PublishHeaders* headers, int64_t now_ns, Outcome* outcome) noexcept nogil:
    """Store a message that nothing was against; a `Refusal`."""
    cdef Publish message = publish[0]
    cdef Text value
    cdef int refusal = STORED
    if headers.required_level.chars != NULL and not header_drop(stream.header_rooms, &message.header, b"Nats-Required-Api-Level"):
        return NO_MEMORY
    message_transform(stream, &message, now_ns)
    if headers.expected_last_msg_id.chars != NULL and not text_is(headers.expected_last_msg_id, stream.last_id, stream.last_id_length):
        outcome.shown.chars = stream.last_id
        outcome.shown.length = stream.last_id_length
        return WRONG_LAST_MSG_ID
    if stream.limits.allow_counter:
        refusal = count_up(stream, &message, headers, &value)
    return stream_store(stream, &message, headers, now_ns, outcome) if refusal == STORED else refusal


cdef void _take(
    Stream* stream, Fast* batch, const Publish* publish, PublishHeaders* headers, const FastPlace* place, int64_t now_ns, Outcome* outcome
) noexcept nogil:
    """Store a message, and say what follows from it."""
    cdef int refusal = _refusal(stream, publish, headers, now_ns, outcome)
    if refusal != STORED:
        _refuse(stream, batch, place, refusal, outcome)
        return
    batch.pending += 1
    outcome.refusal = _store(stream, publish, headers, now_ns, outcome)
    if outcome.refusal != STORED:
        outcome.is_silent = 0
        return
    batch.pending -= 1
    batch.stream_seq = outcome.seq
    batch.stored_seq = place.seq if batch.pending else batch.last_seq
    if batch.is_committed and batch.last_seq == batch.stored_seq:
        _commit(stream, batch, outcome)
    else:
        _flow(stream, batch, outcome)


cdef void fast_publish(Stream* stream, const Publish* publish, PublishHeaders* headers, int64_t now_ns, Outcome* outcome) noexcept nogil:
    """Store a message of a batch, or refuse it.

    Args:
        headers: All absent, if it has none.
        outcome: Is filled in.
    """
    cdef FastPlace place
    cdef Fast* batch = NULL
    outcome.refusal = _refusal_of_stream(stream, publish, &place)
    if outcome.refusal == STORED:
        outcome.batch_id = place.id
        outcome.refusal = _begin(stream, publish, &place, &batch)
    if outcome.refusal == STORED and needs_more(stream, headers.required_level):
        outcome.refusal = BATCH_LEVEL
        fast_drop(&stream.fast_batches, batch)
    if outcome.refusal != STORED:
        return
    outcome.is_silent = 1
    batch.touched_ns = now_ns
    if place.is_ping:
        _answer_ping(stream, batch, &place, outcome)
        return
    if batch.is_committed or not _follows(stream, batch, &place, outcome):
        return
    if place.is_eob:
        _step_back(batch)
    if place.commits and (_commit(stream, batch, outcome) or place.is_eob):
        return
    if place.seq == 1 and not place.commits:
        _say(outcome, FLOW_ACK, 0, batch.every)
    _take(stream, batch, publish, headers, &place, now_ns, outcome)
