"""A stream as a deterministic machine: what it keeps follows from what it is told, in that order, with the times that come along.

`stream_publish` decides on one message when its entry is applied: expectations, duplicates, limits. It looks at nothing but the stream
and the entry, so every replica comes to the same end.

A message passes these steps: what becomes of its subject, whether anything is against it (`_judging.pyx`, in a batch
`_batch_judging.pyx`), what a counter makes of it (`_counting.pyx`), then `stream_store`.

Source: nats-server `stream.go`, `processJetStreamMsg`; `memstore.go`, `storeRawMsg`, `PurgeEx`.

Size: all that decides on one message.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from framework_jetstream.sourcing._marks cimport SourceHeader, marks_free, marks_set, marks_take, source_header_read
from framework_jetstream.sourcing._order cimport given_is_next
from framework_jetstream.stream._batch_publishing cimport batch_publish
from framework_jetstream.stream._batches cimport batches_free
from framework_jetstream.stream._counting cimport count_up
from framework_jetstream.stream._dedupe cimport dedupe_add, dedupe_expire, dedupe_free
from framework_jetstream.stream._digesting cimport digest_message, digest_removal
from framework_jetstream.stream._expiring cimport stream_expire
from framework_jetstream.stream._fast_batches cimport fast_free
from framework_jetstream.stream._fast_publishing cimport fast_publish
from framework_jetstream.stream._header_changes cimport header_add_number, header_drop
from framework_jetstream.stream._headers cimport TTL_INVALID, headers_read, text_is, ttl_of_text
from framework_jetstream.stream._judging cimport refusal_of_limits, refusal_of_message, rollup_kind
from framework_jetstream.store._subjects cimport (
    Subject, marks_clear, number_is_marked, pattern_is_literal, subjects_mark, subjects_next,
)
from framework_jetstream.stream._messages cimport (
    messages_append, messages_begin, messages_first_of, messages_free, messages_get, messages_keep_nexts, messages_last_of,
    messages_next_marked, messages_remove, messages_skip_to, messages_subject,
)
from framework_jetstream.stream._scheduling cimport schedule_note, schedule_settle
from framework_jetstream.stream._subject_terms cimport room_free, subject_changed, subject_terms_made, terms_drop, terms_keep
from framework_jetstream.stream._ttls cimport ttls_add, ttls_free

cdef enum:
    MEMORY_OVERHEAD = 16
    FILE_OVERHEAD = 30
    FILE_HEADER_OVERHEAD = 4
    # What nats-server counts for a message in either storage.
    SECOND_NS = 1000000000


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
    terms_keep(limits.subject_terms)
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
    ttls_free(&stream.schedules)
    batches_free(&stream.batches)
    fast_free(&stream.fast_batches)
    terms_drop(stream.limits.subject_terms)
    room_free(&stream.header_rooms[0])
    room_free(&stream.header_rooms[1])
    room_free(&stream.subject_room)
    room_free(&stream.payload_room)
    marks_free(&stream.sources)
    free(stream.last_id)


# ---- removal -------------------------------------------------------------------------------------------------------------


cdef void _remove(Stream* stream, uint64_t seq) noexcept nogil:
    cdef Record record
    if stream.removing != NULL:
        record = messages_get(&stream.messages, seq)
        stream.removing(stream, &record)
    if stream.digests != NULL:
        digest_removal(stream, seq)
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


cdef void stream_set_limits(Stream* stream, const Limits* limits, int64_t now_ns) noexcept nogil:
    """Change the limits, and keep to them."""
    cdef uint32_t at = 0
    cdef Subject* subject
    terms_keep(limits.subject_terms)
    terms_drop(stream.limits.subject_terms)
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


cdef void _forget_last_id(Stream* stream) noexcept nogil:
    if stream.last_id != NULL:
        free(stream.last_id)
        stream.last_id = NULL
        stream.last_id_length = 0


cdef void _roll_up(Stream* stream, const Publish* publish, PublishHeaders* headers, uint64_t keep) noexcept nogil:
    """Remove what came before a message: of its subject, or all; `keep` is 0 where it was not stored itself."""
    if rollup_kind(headers.rollup) == 2:
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


cdef void _skip(Stream* stream, const Publish* message, PublishHeaders* headers, int64_t now_ns, Outcome* outcome) noexcept nogil:
    """Use up a sequence for a message that nobody wants."""
    outcome.seq = stream.messages.last_seq + 1
    messages_skip_to(&stream.messages, outcome.seq + 1)
    stream.messages.last_time_ns = now_ns
    if headers == NULL:
        _forget_last_id(stream)
        return
    _remember_id(stream, headers.msg_id, outcome.seq, now_ns)
    if headers.rollup.chars != NULL and stream.limits.allow_rollup:
        _roll_up(stream, message, headers, 0)


cdef bint _is_wanted(Stream* stream, const Publish* message) noexcept nogil:
    if stream.limits.retention != RETENTION_INTEREST or stream.stores_all:
        return True
    return stream.wanted != NULL and stream.wanted(stream, message.subject.chars, message.subject.length)


cdef int _settle_ttl(Stream* stream, Publish* message, PublishHeaders* headers, int64_t* ttl_ns) noexcept nogil:
    """Find how long a message lives: not shorter than a marker of its subject, which it would outlive unseen; a `Refusal`."""
    cdef int64_t least_s = stream.limits.marker_ttl_ns // SECOND_NS
    ttl_ns[0] = ttl_of_text(headers.ttl)
    if ttl_ns[0] == TTL_INVALID:
        return TTL_UNREADABLE
    if ttl_ns[0] > 0 and ttl_ns[0] < least_s * SECOND_NS and stream.limits.max_msgs_per_subject != 1:
        ttl_ns[0] = least_s * SECOND_NS
        if not header_drop(stream.header_rooms, &message.header, b"Nats-TTL") or not header_add_number(
            stream.header_rooms, &message.header, b"Nats-TTL", <uint64_t> least_s
        ):
            return NO_MEMORY
        headers_read(headers, message.header.chars, message.header.length)
    return STORED


cdef uint64_t _seq_before(Stream* stream, const Publish* message) noexcept nogil:
    """Return the last sequence of a message's subject, where somebody is to be told."""
    cdef Subject* subject
    if stream.limits.subject_terms == NULL or stream.limits.subject_terms.republish == NULL:
        return 0
    subject = messages_subject(&stream.messages, message.subject.chars, message.subject.length)
    return messages_last_of(&stream.messages, subject) if subject != NULL else 0


cdef int stream_store(Stream* stream, Publish* message, PublishHeaders* headers, int64_t now_ns, Outcome* outcome) noexcept nogil:
    """Store a message that nothing is against but limits; a `Refusal`.

    Args:
        message: Becomes as it is stored.
        headers: NULL: it has none.
        outcome: Gets its sequence.
    """
    cdef Limits* limits = &stream.limits
    cdef Record record
    cdef int64_t ttl_ns = 0
    cdef uint64_t before
    cdef int refusal = STORED
    if message.marks & MARK_SERVER_FULL:
        return STORAGE_EXHAUSTED
    if not _is_wanted(stream, message):
        _skip(stream, message, headers, now_ns, outcome)
        return STORED
    if message.marks & MARK_ACCOUNT_FULL:
        return ACCOUNT_EXHAUSTED
    if headers != NULL and headers.ttl.chars != NULL:
        refusal = _settle_ttl(stream, message, headers, &ttl_ns)
    if refusal == STORED:
        refusal = refusal_of_limits(stream, message, headers != NULL and headers.rollup.chars != NULL)
    if refusal != STORED:
        return refusal
    if headers != NULL and not schedule_settle(stream, message, headers):
        return NO_MEMORY
    before = _seq_before(stream, message)
    record = messages_append(
        &stream.messages, message.subject.chars, message.subject.length, message.header.chars, message.header.length,
        message.payload.chars, message.payload.length, now_ns,
    )
    if record.seq == 0:
        return NO_MEMORY
    outcome.seq = record.seq
    if stream.digests != NULL:
        digest_message(stream, &record)
    if stream.appended != NULL:
        stream.appended(stream, &record)
    if headers != NULL:
        _remember_id(stream, headers.msg_id, outcome.seq, now_ns)
        if ttl_ns > 0 and limits.allow_ttl:
            ttls_add(&stream.ttls, now_ns + ttl_ns, outcome.seq)
        if limits.allow_schedules:
            schedule_note(stream, headers, outcome.seq, now_ns)
    else:
        _forget_last_id(stream)
    if limits.max_msgs_per_subject > 0:
        _keep_subject_limit(stream, record.subject, <uint64_t> limits.max_msgs_per_subject)
    if limits.max_msgs > 0 or limits.max_bytes > 0:
        _keep_limits(stream)
    if headers != NULL and headers.rollup.chars != NULL and limits.allow_rollup:
        _roll_up(stream, message, headers, 1)
    if headers != NULL and limits.allow_rollup and headers.scheduler.chars != NULL and text_is(headers.schedule_next, b"purge", 5):
        _purge_subjects(stream, headers.scheduler.chars, headers.scheduler.length, 0, 0)
    if stream.stored != NULL:
        stream.stored(stream, message, outcome.seq, before, now_ns)
    return STORED


cdef void message_transform(Stream* stream, Publish* message, int64_t now_ns) noexcept nogil:
    """Let a message have the subject that its stream makes of it."""
    cdef size_t length
    if stream.limits.subject_terms == NULL or stream.limits.subject_terms.transform == NULL:
        return
    length = subject_changed(
        stream.limits.subject_terms.transform, stream.messages.last_seq ^ <uint64_t> now_ns, message.subject.chars,
        message.subject.length, &stream.subject_room,
    )
    if length:
        message.subject.chars = stream.subject_room.chars
        message.subject.length = <uint32_t> length


cdef void stream_publish(Stream* stream, const Publish* publish, int64_t now_ns, Outcome* outcome) noexcept nogil:
    """Store a message, or refuse it.

    Args:
        now_ns: Unix time of its entry; never lower than before.
        outcome: Is filled in.
    """
    cdef PublishHeaders headers
    cdef SourceHeader source
    if publish.giver == GIVEN_BY_CLIENT:
        _publish(stream, publish, now_ns, outcome)
        return
    memset(outcome, 0, sizeof(Outcome))
    memset(&source, 0, sizeof(source))
    if publish.giver == GIVEN_BY_SOURCE:
        headers_read(&headers, publish.header.chars, publish.header.length)
        source_header_read(&source, headers.stream_source)
    if not given_is_next(stream, publish, &source):
        outcome.refusal = OUT_OF_ORDER
    elif publish.giver == GIVEN_BY_ORIGIN:
        stream.origin_losses = stream.losses
        messages_skip_to(&stream.messages, publish.seq)
        _publish(stream, publish, publish.time_ns, outcome)
    else:
        _publish(stream, publish, now_ns, outcome)
        if outcome.refusal == STORED:
            marks_set(&stream.sources, &source, stream.losses)


cdef void _publish(Stream* stream, const Publish* publish, int64_t now_ns, Outcome* outcome) noexcept nogil:
    """Store a message whose turn it is, or refuse it."""
    cdef PublishHeaders headers
    cdef Publish message = publish[0]
    memset(outcome, 0, sizeof(Outcome))
    if publish.header.length:
        headers_read(&headers, publish.header.chars, publish.header.length)
        if stream.dedupe.first != NULL:
            dedupe_expire(&stream.dedupe, now_ns - stream.limits.duplicate_window_ns)
    if publish.reply.length:
        if publish.header.length == 0:
            memset(&headers, 0, sizeof(headers))
        fast_publish(stream, publish, &headers, now_ns, outcome)
        return
    if publish.header.length and headers.batch_id.chars != NULL:
        batch_publish(stream, publish, &headers, now_ns, outcome)
        return
    message_transform(stream, &message, now_ns)
    outcome.refusal = refusal_of_message(stream, &message, &headers, now_ns, outcome)
    if outcome.refusal != STORED or outcome.is_duplicate:
        return
    if stream.limits.allow_counter:
        outcome.refusal = count_up(stream, &message, &headers, &outcome.shown)
    if outcome.refusal == STORED:
        outcome.refusal = stream_store(stream, &message, &headers if publish.header.length else NULL, now_ns, outcome)
    if outcome.refusal != STORED:
        outcome.shown.chars = NULL


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
    if stream.digests != NULL:
        digest_message(stream, &record)
    if stream.appended != NULL:
        stream.appended(stream, &record)
    if publish.header.length == 0:
        _forget_last_id(stream)
        return True
    headers_read(&headers, publish.header.chars, publish.header.length)
    _remember_id(stream, headers.msg_id, seq, time_ns)
    if headers.stream_source.chars != NULL:
        marks_take(&stream.sources, headers.stream_source)
    ttl_ns = ttl_of_text(headers.ttl) if headers.ttl.chars != NULL else 0
    if ttl_ns > 0:
        ttls_add(&stream.ttls, time_ns + ttl_ns, seq)
    if stream.limits.allow_schedules:
        schedule_note(stream, &headers, seq, time_ns)
    return True


# ---- as Python has them -----------------------------------------------------------------------------------------------


cdef Limits limits_made(dict fields):
    """Return limits of which a dict has the fields by name. Whoever has them drops the terms of subjects when they are used no more."""
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
    made.allow_counter = fields.get("allow_counter", 0)
    made.allow_atomic = fields.get("allow_atomic", 0)
    made.allow_batched = fields.get("allow_batched", 0)
    made.allow_schedules = fields.get("allow_schedules", 0)
    made.api_level = fields.get("api_level", 0)
    made.marker_ttl_ns = fields.get("marker_ttl_ns", 0)
    made.subject_terms = subject_terms_made(fields)
    made.is_compressed = fields.get("is_compressed", 0)
    made.storage_kind = fields.get("storage_kind", 0)
    return made
