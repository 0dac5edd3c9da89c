"""A stream as a deterministic machine: what it keeps follows from what it is told, in that order, with the times that come along.

`stream_publish` decides on one message when its entry is applied: expectations, duplicates, limits. It looks at nothing but the stream
and the entry, so every replica comes to the same end.

Source: nats-server `stream.go`, `processJetStreamMsg`; `memstore.go`, `storeRawMsg`, `PurgeEx`.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

from framework_jetstream.stream._dedupe cimport dedupe_add, dedupe_expire, dedupe_find, dedupe_free
from framework_jetstream.stream._headers cimport (
    TTL_INVALID, TTL_NEVER, TTL_NONE, PublishHeaders, headers_read, seq_of_text, text_is, ttl_of_text,
)
from framework_jetstream.store._subjects cimport (
    Subject, marks_clear, number_is_marked, pattern_is_literal, subjects_mark, subjects_next,
)
from framework_jetstream.stream._messages cimport (
    message_bytes, messages_append, messages_begin, messages_first, messages_first_of, messages_free, messages_get, messages_keep_nexts,
    messages_last_of, messages_next_marked, messages_remove, messages_skip_to, messages_subject, record_bytes,
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
    messages_keep_nexts(&stream.messages, limits.max_msgs_per_subject > 1)


cdef void stream_free(Stream* stream) noexcept nogil:
    messages_free(&stream.messages)
    dedupe_free(&stream.dedupe)
    ttls_free(&stream.ttls)
    free(stream.last_id)


# ---- removal -------------------------------------------------------------------------------------------------------------


cdef void _remove(Stream* stream, uint64_t seq) noexcept nogil:
    cdef Record record
    if stream.removing != NULL:
        record = messages_get(&stream.messages, seq)
        stream.removing(stream, &record)
    messages_remove(&stream.messages, seq)


cdef void _keep_subject_limit(Stream* stream, Subject* subject, uint64_t most) noexcept nogil:
    """Let a subject have so many messages at most; `most` is above 0."""
    while subject.count > most:
        _remove(stream, messages_first_of(&stream.messages, subject))


cdef void _keep_limits(Stream* stream) noexcept nogil:
    cdef Limits* limits = &stream.limits
    if limits.discard_new:
        return
    while stream.messages.count and (
        (limits.max_msgs > 0 and stream.messages.count > <uint64_t> limits.max_msgs)
        or (limits.max_bytes > 0 and stream.messages.bytes > <uint64_t> limits.max_bytes)
    ):
        _remove(stream, stream.messages.first_seq)


cdef int64_t stream_expire(Stream* stream, int64_t now_ns) noexcept nogil:
    """Forget messages and ids that are too old; return when the next one will be, far off if there is none."""
    cdef Record record
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
        _remove(stream, record.seq)
    return next_ns


cdef void stream_set_limits(Stream* stream, const Limits* limits, int64_t now_ns) noexcept nogil:
    """Change the limits, and keep to them."""
    cdef uint32_t at = 0
    cdef Subject* subject
    stream.limits = limits[0]
    messages_keep_nexts(&stream.messages, limits.max_msgs_per_subject > 1)
    _keep_limits(stream)
    stream_expire(stream, now_ns)
    if limits.max_msgs_per_subject > 0:
        subject = subjects_next(&stream.messages.subjects, &at)
        while subject != NULL:
            _keep_subject_limit(stream, subject, <uint64_t> limits.max_msgs_per_subject)
            subject = subjects_next(&stream.messages.subjects, &at)


cdef bint stream_delete(Stream* stream, uint64_t seq) noexcept nogil:
    """Remove one message; False: there is none with this sequence."""
    if messages_get(&stream.messages, seq).seq == 0:
        return False
    _remove(stream, seq)
    return True


cdef uint64_t _purge_subjects(Stream* stream, const char* pattern, size_t length, uint64_t seq, uint64_t keep) noexcept nogil:
    """Remove messages of subjects; return how many."""
    cdef Messages* messages = &stream.messages
    cdef Record record
    cdef Subject* subject
    cdef uint64_t purged = 0, matching = 0, most, begin = messages.last_seq
    cdef uint32_t at = 0
    marks_clear(&messages.subjects)
    subjects_mark(&messages.subjects, pattern, length)
    subject = subjects_next(&messages.subjects, &at)
    while subject != NULL:
        if number_is_marked(&messages.subjects, subject.number):
            matching += subject.count
            begin = min(begin, subject.first_seq)
        subject = subjects_next(&messages.subjects, &at)
    most = matching - keep if keep < matching else 0
    record.seq = begin
    while purged < most:
        record = messages_next_marked(messages, record.seq)
        if record.seq == 0 or (seq and record.seq >= seq):
            break
        _remove(stream, record.seq)
        record.seq += 1
        purged += 1
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
        _remove(stream, messages.first_seq)
        purged += 1
    if messages.count == 0 and keep == 0 and seq != 1:
        messages_skip_to(messages, max(seq, messages.last_seq + 1))
        messages.first_seq = messages.last_seq + 1
    return purged


# ---- publishing ----------------------------------------------------------------------------------------------------------


cdef uint64_t stream_last_seq_of(Stream* stream, const char* pattern, size_t length) noexcept nogil:
    """Return the last sequence of subjects that a pattern holds; 0: they have no messages."""
    cdef Messages* messages = &stream.messages
    cdef Subject* subject
    cdef uint64_t found = 0
    cdef uint32_t at = 0
    if pattern_is_literal(pattern, length):
        subject = messages_subject(messages, pattern, length)
        return messages_last_of(messages, subject) if subject != NULL else 0
    marks_clear(&messages.subjects)
    subjects_mark(&messages.subjects, pattern, length)
    subject = subjects_next(&messages.subjects, &at)
    while subject != NULL:
        if subject.last_seq > found and number_is_marked(&messages.subjects, subject.number):
            found = max(found, messages_last_of(messages, subject))
        subject = subjects_next(&messages.subjects, &at)
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


cdef void _forget_last_id(Stream* stream) noexcept nogil:
    if stream.last_id != NULL:
        free(stream.last_id)
        stream.last_id = NULL
        stream.last_id_length = 0


cdef void _roll_up(Stream* stream, const Publish* publish, PublishHeaders* headers, uint64_t keep) noexcept nogil:
    """Remove what came before a message: of its subject, or all; `keep` is 0 where it was not stored itself."""
    if _rollup_kind(headers.rollup) == 2:
        stream_purge(stream, NULL, 0, 0, keep)
    else:
        _purge_subjects(stream, publish.subject.chars, publish.subject.length, 0, keep)


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


cdef void _skip(Stream* stream, const Publish* publish, PublishHeaders* headers, int64_t now_ns, Outcome* outcome) noexcept nogil:
    """Use up a sequence for a message that nobody wants."""
    outcome.seq = stream.messages.last_seq + 1
    messages_skip_to(&stream.messages, outcome.seq + 1)
    stream.messages.last_time_ns = now_ns
    if publish.header.length == 0:
        _forget_last_id(stream)
        return
    _remember_id(stream, headers.msg_id, outcome.seq, now_ns)
    if headers.rollup.chars != NULL:
        _roll_up(stream, publish, headers, 0)


cdef void stream_publish(Stream* stream, const Publish* publish, int64_t now_ns, Outcome* outcome) noexcept nogil:
    """Store a message, or refuse it.

    Args:
        now_ns: Unix time of its entry; never lower than before.
        outcome: Is filled in.
    """
    cdef PublishHeaders headers
    cdef Record record
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
    if limits.retention == RETENTION_INTEREST and not stream.stores_all and (
        stream.wanted == NULL or not stream.wanted(stream, publish.subject.chars, publish.subject.length)
    ):
        _skip(stream, publish, &headers, now_ns, outcome)
        return
    outcome.refusal = _refusal_of_limits(stream, publish, publish.header.length and headers.rollup.chars != NULL)
    if outcome.refusal != STORED:
        return
    record = messages_append(
        &stream.messages, publish.subject.chars, publish.subject.length, publish.header.chars, publish.header.length,
        publish.payload.chars, publish.payload.length, now_ns,
    )
    if record.seq == 0:
        outcome.refusal = NO_MEMORY
        return
    outcome.seq = record.seq
    if stream.appended != NULL:
        stream.appended(stream, &record)
    if publish.header.length:
        _remember_id(stream, headers.msg_id, outcome.seq, now_ns)
        if headers.ttl.chars != NULL and ttl_of_text(headers.ttl) > 0:
            ttls_add(&stream.ttls, now_ns + ttl_of_text(headers.ttl), outcome.seq)
    else:
        _forget_last_id(stream)
    if limits.max_msgs_per_subject > 0:
        _keep_subject_limit(stream, record.subject, <uint64_t> limits.max_msgs_per_subject)
    if limits.max_msgs > 0 or limits.max_bytes > 0:
        _keep_limits(stream)
    if publish.header.length and headers.rollup.chars != NULL:
        _roll_up(stream, publish, &headers, 1)


cdef bint stream_put(Stream* stream, const Publish* publish, uint64_t seq, int64_t time_ns) noexcept nogil:
    """Store a message as it was elsewhere, behind all that is there, whatever it says; False: there is no memory.

    Limits don't count until they are set again.
    """
    cdef PublishHeaders headers
    cdef Record record
    cdef int64_t ttl_ns
    if seq > stream.messages.last_seq + 1:
        messages_skip_to(&stream.messages, seq)
    record = messages_append(
        &stream.messages, publish.subject.chars, publish.subject.length, publish.header.chars, publish.header.length,
        publish.payload.chars, publish.payload.length, time_ns,
    )
    if record.seq == 0:
        return False
    if stream.appended != NULL:
        stream.appended(stream, &record)
    if publish.header.length == 0:
        _forget_last_id(stream)
        return True
    headers_read(&headers, publish.header.chars, publish.header.length)
    _remember_id(stream, headers.msg_id, seq, time_ns)
    ttl_ns = ttl_of_text(headers.ttl) if headers.ttl.chars != NULL else 0
    if ttl_ns > 0:
        ttls_add(&stream.ttls, time_ns + ttl_ns, seq)
    return True


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
    made.retention = fields.get("retention", 0)
    made.discard_new = fields.get("discard_new", 0)
    made.discard_new_per_subject = fields.get("discard_new_per_subject", 0)
    made.sealed = fields.get("sealed", 0)
    made.allow_rollup = fields.get("allow_rollup", 0)
    made.no_ack = fields.get("no_ack", 0)
    made.allow_direct = fields.get("allow_direct", 0)
    made.allow_ttl = fields.get("allow_ttl", 0)
    return made
