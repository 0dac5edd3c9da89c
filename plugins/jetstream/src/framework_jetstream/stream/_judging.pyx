"""Whether a message is stored: by what it expects, says of itself, and by what the stream holds, in the order of the real server.

Source: nats-server `stream.go`, `processJetStreamMsgWithBatch`; `memstore.go`, `storeRawMsg`.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcmp

from framework_jetstream.stream._decimals cimport Decimal, decimal_of_text
from framework_jetstream.stream._dedupe cimport dedupe_find
from framework_jetstream.stream._headers cimport TTL_INVALID, TTL_NONE, seq_of_text, text_is, ttl_of_text
from framework_jetstream.stream._machine cimport (
    COUNTER_DISABLED, GIVEN_BY_CLIENT, GIVEN_BY_SOURCE, HEADER_TOO_LARGE, INCR_INVALID, INCR_MISSING, INCR_WITH_PAYLOAD,
    LAST_SUBJECT_SEQ_MISSING, MAX_BYTES_REACHED, MAX_MSGS_PER_SUBJECT_REACHED, MAX_MSGS_REACHED, MESSAGE_TOO_LARGE, ROLLUP_INVALID,
    ROLLUP_NOT_PERMITTED, SEALED, SOURCE_NOT_ALLOWED, STORED, TTL_DISABLED, TTL_UNREADABLE, WRONG_LAST_MSG_ID, WRONG_LAST_SEQ,
    WRONG_STREAM, Limits, stream_last_seq_of,
)
from framework_jetstream.stream._messages cimport (
    Record, message_bytes, messages_first_of, messages_get, messages_subject, record_bytes,
)
from framework_jetstream.stream._scheduling cimport refusal_of_schedule, refusal_of_scheduler
from framework_jetstream.store._subjects cimport Subject

cdef enum:
    HEADER_BYTES_MAX = 65535


cdef bint has_size(Stream* stream, const Publish* publish) noexcept nogil:
    """Whether a message has a size that its stream takes."""
    cdef int64_t most = stream.limits.max_msg_size
    return most < 0 or <int64_t> publish.header.length + publish.payload.length <= most


cdef int _refusal_of_sequences(Stream* stream, const Publish* publish, PublishHeaders* headers, Outcome* outcome) noexcept nogil:
    """Judge a message by the last sequences that it expects."""
    cdef Text subject
    cdef uint64_t last
    if headers.expected_last_subject_seq.chars != NULL:
        subject = headers.expected_last_subject if headers.expected_last_subject.chars != NULL else publish.subject
        last = stream_last_seq_of(stream, subject.chars, subject.length)
        if seq_of_text(headers.expected_last_subject_seq) != last:
            outcome.seq = last
            return WRONG_LAST_SEQ
    elif headers.expected_last_subject.chars != NULL:
        return LAST_SUBJECT_SEQ_MISSING
    if headers.expected_last_seq.chars != NULL and seq_of_text(headers.expected_last_seq) != stream.messages.last_seq:
        outcome.seq = stream.messages.last_seq
        return WRONG_LAST_SEQ
    return STORED


cdef int refusal_of_counting(Stream* stream, const Publish* publish, PublishHeaders* headers) noexcept nogil:
    """Judge what a message says that its subject counts up by."""
    cdef Decimal number
    if headers.incr.chars == NULL:
        return STORED
    if not decimal_of_text(headers.incr, &number):
        return INCR_INVALID
    if not stream.limits.allow_counter:
        return COUNTER_DISABLED
    if publish.payload.length:
        return INCR_WITH_PAYLOAD
    if (
        headers.rollup.chars != NULL or headers.expected_stream.chars != NULL or headers.expected_last_msg_id.chars != NULL
        or headers.expected_last_subject.chars != NULL or headers.expected_last_seq.chars != NULL
        or headers.expected_last_subject_seq.chars != NULL
    ):
        return INCR_INVALID
    return STORED


cdef int _refusal_of_headers(
    Stream* stream, const Publish* publish, PublishHeaders* headers, int64_t now_ns, Outcome* outcome
) noexcept nogil:
    """Judge a message by its headers; a duplicate is marked in the outcome."""
    cdef int refusal = refusal_of_counting(stream, publish, headers)
    cdef int64_t ttl_ns = ttl_of_text(headers.ttl)
    if refusal != STORED:
        return refusal
    if headers.expected_stream.chars != NULL and not text_is(headers.expected_stream, stream.name, stream.name_length):
        return WRONG_STREAM
    if ttl_ns != TTL_NONE and ttl_ns != TTL_INVALID and not stream.limits.allow_ttl:
        return TTL_DISABLED
    refusal = _refusal_of_sequences(stream, publish, headers, outcome)
    if refusal != STORED:
        return refusal
    refusal = refusal_of_schedule(stream, publish, headers, now_ns)
    if refusal == STORED:
        refusal = refusal_of_scheduler(stream, publish, headers)
    if refusal != STORED:
        return refusal
    if headers.stream_source.chars != NULL:
        return SOURCE_NOT_ALLOWED
    if headers.msg_id.chars != NULL and stream.limits.duplicate_window_ns > 0:
        outcome.seq = dedupe_find(&stream.dedupe, headers.msg_id.chars, headers.msg_id.length)
        if outcome.seq:
            outcome.is_duplicate = 1
            return STORED
    if headers.expected_last_msg_id.chars != NULL and not text_is(
        headers.expected_last_msg_id, stream.last_id, stream.last_id_length
    ):
        outcome.shown.chars = stream.last_id
        outcome.shown.length = stream.last_id_length
        return WRONG_LAST_MSG_ID
    if headers.rollup.chars != NULL:
        if not stream.limits.allow_rollup:
            return ROLLUP_NOT_PERMITTED
        if rollup_kind(headers.rollup) == 0:
            outcome.shown = headers.rollup
            return ROLLUP_INVALID
    return STORED


cdef int _refusal_of_given(Stream* stream, const Publish* publish, PublishHeaders* headers, Outcome* outcome) noexcept nogil:
    """Judge a message of another stream by its headers: there it was judged already; a duplicate is marked in the outcome."""
    if publish.giver == GIVEN_BY_SOURCE and headers.msg_id.chars != NULL and stream.limits.duplicate_window_ns > 0:
        outcome.seq = dedupe_find(&stream.dedupe, headers.msg_id.chars, headers.msg_id.length)
        if outcome.seq:
            outcome.is_duplicate = 1
            return STORED
    if headers.rollup.chars != NULL and rollup_kind(headers.rollup) == 0:
        outcome.shown = headers.rollup
        return ROLLUP_INVALID
    return TTL_UNREADABLE if ttl_of_text(headers.ttl) == TTL_INVALID else STORED


cdef int refusal_of_message(
    Stream* stream, const Publish* publish, PublishHeaders* headers, int64_t now_ns, Outcome* outcome
) noexcept nogil:
    """Judge a message that came by itself, in no batch; a duplicate is marked in the outcome.

    Args:
        headers: Of no meaning without a header block.
    """
    cdef int refusal = STORED
    if stream.limits.sealed:
        return SEALED
    if not has_size(stream, publish):
        return MESSAGE_TOO_LARGE
    if publish.header.length:
        if publish.header.length > HEADER_BYTES_MAX:
            return HEADER_TOO_LARGE
        if publish.giver == GIVEN_BY_CLIENT:
            refusal = _refusal_of_headers(stream, publish, headers, now_ns, outcome)
        else:
            refusal = _refusal_of_given(stream, publish, headers, outcome)
    if refusal == STORED and not outcome.is_duplicate and stream.limits.allow_counter:
        if publish.header.length == 0 or headers.incr.chars == NULL:
            return INCR_MISSING
    return refusal


cdef int rollup_kind(Text value) noexcept nogil:
    """Return 1 for a rollup of the subject, 2 for one of the stream, 0 for anything else."""
    cdef char lower[3]
    cdef int at
    if value.length != 3:
        return 0
    for at in range(3):
        lower[at] = value.chars[at] | 32
    if memcmp(lower, b"sub", 3) == 0:
        return 1
    return 2 if memcmp(lower, b"all", 3) == 0 else 0


cdef int refusal_of_limits(Stream* stream, const Publish* publish, bint rolls_up) noexcept nogil:
    """Judge a message by what the stream holds: only where new messages are discarded."""
    cdef Limits* limits = &stream.limits
    cdef Subject* subject
    cdef Record replaced
    cdef uint64_t size
    cdef bint replaces = False
    if not limits.discard_new:
        return STORED
    if limits.max_msgs_per_subject > 0:
        subject = messages_subject(&stream.messages, publish.subject.chars, publish.subject.length)
        replaces = subject != NULL and subject.count >= <uint64_t> limits.max_msgs_per_subject
        if replaces and limits.discard_new_per_subject and not rolls_up:
            return MAX_MSGS_PER_SUBJECT_REACHED
    if limits.max_msgs > 0 and stream.messages.count >= <uint64_t> limits.max_msgs and not replaces:
        return MAX_MSGS_REACHED
    size = message_bytes(&stream.messages, publish.subject.length, publish.header.length, publish.payload.length)
    if limits.max_bytes > 0 and stream.messages.bytes + size > <uint64_t> limits.max_bytes:
        if not replaces:
            return MAX_BYTES_REACHED
        replaced = messages_get(&stream.messages, messages_first_of(&stream.messages, subject))
        if record_bytes(&stream.messages, &replaced) < size:
            return MAX_BYTES_REACHED
    return STORED
