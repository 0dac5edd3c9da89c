"""A stream as a deterministic machine: what it keeps follows from what it is told, in that order, with the times that come along.

`stream_publish` decides on one message when its entry is applied: expectations, duplicates, limits. It looks at nothing but the stream
and the entry, so every replica comes to the same end.

Source: nats-server `stream.go`, `processJetStreamMsg`; `memstore.go`, `storeRawMsg`, `PurgeEx`.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

from framework_jetstream.stream._dedupe cimport dedupe_add, dedupe_expire, dedupe_find, dedupe_free
from framework_jetstream.stream._headers cimport (
    TTL_INVALID, TTL_NEVER, TTL_NONE, PublishHeaders, headers_read, seq_of_text, text_is, ttl_of_text,
)
from framework_jetstream.stream._messages cimport (
    Subject, message_bytes, messages_append, messages_begin, messages_first, messages_free, messages_get, messages_mark, messages_next,
    messages_remove, messages_skip_to, messages_subject, pattern_is_literal, record_bytes,
)
from framework_jetstream.stream._ttls cimport ttls_add, ttls_free, ttls_take

cdef enum:
    HEADER_BYTES_MAX = 65536
    MEMORY_OVERHEAD = 16
    FILE_OVERHEAD = 30
    FILE_HEADER_OVERHEAD = 4
    # What nats-server counts for a message in either storage.

cdef int64_t NEVER = <int64_t> 0x7fffffffffffffff


cdef void stream_begin(
    Stream* stream, const Limits* limits, const char* name, uint32_t name_length, uint64_t seed, bint is_file, uint64_t first_seq
) noexcept nogil:
    """Make an empty stream.

    Args:
        name: Stays where it is as long as the stream.
        seed: Secret, of hashes.
        is_file: Messages count as many bytes as nats-server's in a file.
        first_seq: Of the first message; 0: 1.
    """
    memset(stream, 0, sizeof(Stream))
    stream.limits = limits[0]
    stream.name = name
    stream.name_length = name_length
    stream.dedupe.seed = seed
    messages_begin(
        &stream.messages, seed, FILE_OVERHEAD if is_file else MEMORY_OVERHEAD, FILE_HEADER_OVERHEAD if is_file else 0, first_seq
    )


cdef void stream_free(Stream* stream) noexcept nogil:
    messages_free(&stream.messages)
    dedupe_free(&stream.dedupe)
    ttls_free(&stream.ttls)
    free(stream.last_id)


# ---- removal -------------------------------------------------------------------------------------------------------------


cdef void _remove(Stream* stream, Record* record) noexcept nogil:
    if stream.removing != NULL:
        stream.removing(stream, record)
    messages_remove(&stream.messages, record)


cdef void _keep_subject_limit(Stream* stream, Subject* subject) noexcept nogil:
    while stream.limits.max_msgs_per_subject > 0 and subject.count > <uint64_t> stream.limits.max_msgs_per_subject:
        _remove(stream, subject.first)


cdef void _keep_limits(Stream* stream) noexcept nogil:
    cdef Limits* limits = &stream.limits
    if limits.discard_new:
        return
    while stream.messages.count and (
        (limits.max_msgs > 0 and stream.messages.count > <uint64_t> limits.max_msgs)
        or (limits.max_bytes > 0 and stream.messages.bytes > <uint64_t> limits.max_bytes)
    ):
        _remove(stream, messages_first(&stream.messages))


cdef int64_t stream_expire(Stream* stream, int64_t now_ns) noexcept nogil:
    """Forget messages and ids that are too old; return when the next one will be, far off if there is none."""
    cdef Record* record
    cdef int64_t next_ns = NEVER
    cdef uint64_t seq
    dedupe_expire(&stream.dedupe, now_ns - stream.limits.duplicate_window_ns)
    if stream.dedupe.first != NULL:
        next_ns = stream.dedupe.first.time_ns + stream.limits.duplicate_window_ns + 1
    seq = ttls_take(&stream.ttls, now_ns)
    while seq:
        stream_delete(stream, seq)
        seq = ttls_take(&stream.ttls, now_ns)
    if stream.ttls.count:
        next_ns = min(next_ns, stream.ttls.heap[0].at_ns)
    if stream.limits.max_age_ns <= 0:
        return next_ns
    while stream.messages.count:
        record = messages_first(&stream.messages)
        if record.time_ns > now_ns - stream.limits.max_age_ns:
            return min(next_ns, record.time_ns + stream.limits.max_age_ns)
        _remove(stream, record)
    return next_ns


cdef void stream_set_limits(Stream* stream, const Limits* limits, int64_t now_ns) noexcept nogil:
    """Change the limits, and keep to them."""
    cdef size_t at
    cdef Record* record
    stream.limits = limits[0]
    _keep_limits(stream)
    stream_expire(stream, now_ns)
    if limits.max_msgs_per_subject > 0:
        record = messages_first(&stream.messages)
        while record != NULL:
            if record.subject.count > <uint64_t> limits.max_msgs_per_subject:
                at = record.seq + 1
                _keep_subject_limit(stream, record.subject)
                record = messages_next(&stream.messages, at)
            else:
                record = messages_next(&stream.messages, record.seq + 1)


cdef bint stream_delete(Stream* stream, uint64_t seq) noexcept nogil:
    """Remove one message; False: there is none with this sequence."""
    cdef Record* record = messages_get(&stream.messages, seq)
    if record == NULL:
        return False
    _remove(stream, record)
    return True


cdef uint64_t _purge_subjects(Stream* stream, const char* pattern, size_t length, uint64_t seq, uint64_t keep) noexcept nogil:
    """Remove messages of subjects; return how many."""
    cdef Record* record = messages_first(&stream.messages)
    cdef Subject* subject
    cdef uint64_t purged = 0, matching = 0, most, mark, at
    cdef bint is_literal = pattern_is_literal(pattern, length)
    mark = messages_mark(&stream.messages, pattern, length)
    for at in range(stream.messages.subjects.mask + 1 if stream.messages.subjects.slots != NULL else 0):
        subject = <Subject*> stream.messages.subjects.slots[at].key
        if subject != NULL and subject.mark == mark:
            matching += subject.count
    most = matching - keep if keep < matching else 0
    if is_literal and matching:
        record = messages_subject(&stream.messages, pattern, length).first
    while record != NULL and purged < most and (seq == 0 or record.seq < seq):
        at = record.seq
        if record.subject.mark == mark:
            purged += 1
            if is_literal and record.next != NULL:
                at = record.next.seq - 1
            _remove(stream, record)
        record = messages_next(&stream.messages, at + 1)
    return purged


cdef uint64_t stream_purge(Stream* stream, const char* pattern, size_t length, uint64_t seq, uint64_t keep) noexcept nogil:
    """Remove messages; return how many.

    Args:
        pattern: Only of subjects that it holds; `length` 0: of all.
        seq: Only with lower sequences; 0: all.
        keep: So many of the last ones stay; 0: none. Not together with `seq`.
    """
    cdef Messages* messages = &stream.messages
    cdef uint64_t purged = 0
    if length and not (length == 1 and pattern[0] == b">"):
        return _purge_subjects(stream, pattern, length, seq, keep)
    while messages.count > keep:
        if seq and messages.first_seq >= seq:
            break
        _remove(stream, messages_first(messages))
        purged += 1
    if messages.count == 0 and keep == 0 and seq != 1:
        messages_skip_to(messages, seq if seq > messages.last_seq + 1 else messages.last_seq + 1)
        messages.first_seq = messages.last_seq + 1
    return purged


# ---- publishing ----------------------------------------------------------------------------------------------------------


cdef uint64_t stream_last_seq_of(Stream* stream, const char* pattern, size_t length) noexcept nogil:
    """Return the last sequence of subjects that a pattern holds; 0: they have no messages."""
    cdef Subject* subject
    cdef uint64_t found = 0, mark, at
    if pattern_is_literal(pattern, length):
        subject = messages_subject(&stream.messages, pattern, length)
        return subject.last.seq if subject != NULL else 0
    mark = messages_mark(&stream.messages, pattern, length)
    if stream.messages.subjects.slots != NULL:
        for at in range(stream.messages.subjects.mask + 1):
            subject = <Subject*> stream.messages.subjects.slots[at].key
            if subject != NULL and subject.mark == mark and subject.last.seq > found:
                found = subject.last.seq
    return found


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


cdef int _refusal_of_headers(Stream* stream, const Publish* publish, PublishHeaders* headers, Outcome* outcome) noexcept nogil:
    """Judge a message by its headers, in the order of the real server; a duplicate is marked in the outcome."""
    cdef int refusal
    cdef int64_t ttl_ns = ttl_of_text(headers.ttl)
    if headers.batch_id.chars != NULL:
        return ATOMIC_DISABLED
    if headers.incr.chars != NULL:
        return COUNTER_DISABLED
    if headers.expected_stream.chars != NULL and not text_is(headers.expected_stream, stream.name, stream.name_length):
        return WRONG_STREAM
    if ttl_ns != TTL_NONE and ttl_ns != TTL_INVALID and not stream.limits.allow_ttl:
        return TTL_DISABLED
    refusal = _refusal_of_sequences(stream, publish, headers, outcome)
    if refusal != STORED:
        return refusal
    if headers.schedule.chars != NULL:
        return SCHEDULES_DISABLED
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
        if _rollup_kind(headers.rollup) == 0:
            outcome.shown = headers.rollup
            return ROLLUP_INVALID
    if ttl_ns == TTL_INVALID or (ttl_ns == TTL_NEVER and stream.limits.max_age_ns > 0):
        # What is to outlive the others is not there yet.
        return TTL_UNREADABLE
    return STORED


cdef int _rollup_kind(Text value) noexcept nogil:
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


cdef int _refusal_of_limits(Stream* stream, const Publish* publish, bint rolls_up) noexcept nogil:
    """Judge a message by what the stream holds: only where new messages are discarded."""
    cdef Limits* limits = &stream.limits
    cdef Subject* subject
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
        if not replaces or record_bytes(&stream.messages, subject.first) < size:
            return MAX_BYTES_REACHED
    return STORED


cdef void _forget_last_id(Stream* stream) noexcept nogil:
    if stream.last_id != NULL:
        free(stream.last_id)
        stream.last_id = NULL
        stream.last_id_length = 0


cdef void _roll_up(Stream* stream, PublishHeaders* headers, uint64_t seq) noexcept nogil:
    """Remove what came before a message: of its subject, or all."""
    cdef Record* record = messages_get(&stream.messages, seq)
    if _rollup_kind(headers.rollup) == 2:
        stream_purge(stream, NULL, 0, 0, 1)
        return
    while record != NULL and record.subject.count > 1:
        _remove(stream, record.subject.first)
        record = messages_get(&stream.messages, seq)


cdef void _remember_id(Stream* stream, Text id, uint64_t seq, int64_t now_ns) noexcept nogil:
    _forget_last_id(stream)
    if id.chars == NULL:
        return
    stream.last_id = <char*> malloc(id.length)
    if stream.last_id != NULL:
        memcpy(stream.last_id, id.chars, id.length)
        stream.last_id_length = id.length
    if stream.limits.duplicate_window_ns > 0:
        dedupe_add(&stream.dedupe, id.chars, id.length, seq, now_ns)


cdef void stream_publish(Stream* stream, const Publish* publish, int64_t now_ns, Outcome* outcome) noexcept nogil:
    """Store a message, or refuse it.

    Args:
        now_ns: Unix time of its entry; never lower than before.
        outcome: Is filled in.
    """
    cdef PublishHeaders headers
    cdef Record* record
    cdef uint64_t before = stream.messages.last_seq
    cdef Limits* limits = &stream.limits
    memset(outcome, 0, sizeof(Outcome))
    if limits.sealed:
        outcome.refusal = SEALED
        return
    if limits.max_msg_size >= 0 and <int64_t> publish.header.length + publish.payload.length > limits.max_msg_size:
        outcome.refusal = MESSAGE_TOO_LARGE
        return
    if publish.header.length:
        if publish.header.length > HEADER_BYTES_MAX:
            outcome.refusal = HEADER_TOO_LARGE
            return
        headers_read(&headers, publish.header.chars, publish.header.length)
        if stream.dedupe.first != NULL:
            dedupe_expire(&stream.dedupe, now_ns - limits.duplicate_window_ns)
        outcome.refusal = _refusal_of_headers(stream, publish, &headers, outcome)
        if outcome.refusal != STORED or outcome.is_duplicate:
            return
    outcome.refusal = _refusal_of_limits(stream, publish, publish.header.length and headers.rollup.chars != NULL)
    if outcome.refusal != STORED:
        return
    record = messages_append(
        &stream.messages, publish.subject.chars, publish.subject.length, publish.header.chars, publish.header.length,
        publish.payload.chars, publish.payload.length, now_ns,
    )
    if record == NULL:
        outcome.refusal = NO_MEMORY
        return
    outcome.seq = before + 1
    if stream.appended != NULL:
        stream.appended(stream, record)
    if publish.header.length:
        _remember_id(stream, headers.msg_id, outcome.seq, now_ns)
        if headers.ttl.chars != NULL and ttl_of_text(headers.ttl) > 0:
            ttls_add(&stream.ttls, now_ns + ttl_of_text(headers.ttl), outcome.seq)
    else:
        _forget_last_id(stream)
    if limits.max_msgs_per_subject > 0:
        _keep_subject_limit(stream, record.subject)
    if limits.max_msgs > 0 or limits.max_bytes > 0:
        _keep_limits(stream)
    if publish.header.length and headers.rollup.chars != NULL:
        _roll_up(stream, &headers, outcome.seq)
    outcome.record = messages_get(&stream.messages, outcome.seq)


# ---- as Python has them -----------------------------------------------------------------------------------------------


cdef Limits limits_made(dict fields):
    """Return limits of which a dict has the fields by name."""
    cdef Limits made
    memset(&made, 0, sizeof(made))
    made.max_msgs = fields.get("max_msgs", 0)
    made.max_bytes = fields.get("max_bytes", 0)
    made.max_age_ns = fields.get("max_age_ns", 0)
    made.max_msgs_per_subject = fields.get("max_msgs_per_subject", 0)
    made.max_msg_size = fields.get("max_msg_size", -1)
    made.duplicate_window_ns = fields.get("duplicate_window_ns", 0)
    made.discard_new = fields.get("discard_new", 0)
    made.discard_new_per_subject = fields.get("discard_new_per_subject", 0)
    made.sealed = fields.get("sealed", 0)
    made.allow_rollup = fields.get("allow_rollup", 0)
    made.no_ack = fields.get("no_ack", 0)
    made.allow_direct = fields.get("allow_direct", 0)
    made.allow_ttl = fields.get("allow_ttl", 0)
    return made
