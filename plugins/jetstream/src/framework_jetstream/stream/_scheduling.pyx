"""Messages that are schedules: when the time of one has come the stream publishes to its target, once or again and again.

A schedule is the last message of its subject. It says when in the header `Nats-Schedule` and where in `Nats-Schedule-Target`; what is
published is what it holds, or the last message of `Nats-Schedule-Source`.

Source: ADR-51; nats-server `stream.go`, `processJetStreamMsgWithBatch`; `scheduler.go`, `getScheduledMessages`.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memcpy, memset

from framework_jetstream.engine._times cimport TIME_BYTES, write_time
from framework_jetstream.stream._cron cimport is_cron, schedule_next
from framework_jetstream.stream._header_changes cimport header_add, header_drop, header_drop_all
from framework_jetstream.stream._headers cimport TTL_INVALID, Text, header_value, headers_read, text_is, ttl_of_text
from framework_jetstream.stream._judging cimport has_size, rollup_kind
from framework_jetstream.stream._machine cimport (
    MARK_ZONE_UNKNOWN, Outcome, SCHEDULER_INVALID, SCHEDULES_DISABLED, SCHEDULE_PATTERN_INVALID, SCHEDULE_ROLLUP_INVALID,
    SCHEDULE_SOURCE_INVALID, SCHEDULE_TARGET_INVALID, SCHEDULE_TTL_INVALID, SCHEDULE_ZONE_INVALID, STORED, TTL_DISABLED,
    message_transform, stream_store,
)
from framework_jetstream.stream._messages cimport (
    Record, messages_get_whole, messages_last_of, messages_subject, record_header, record_payload,
)
from framework_jetstream.stream._subject_terms cimport room_for, terms_hold
from framework_jetstream.stream._ttls cimport Ttl, ttls_add, ttls_take
from framework_jetstream.stream._zones cimport Zone, zone_find, zone_offset
from framework_jetstream.store._subjects cimport Subject, pattern_is_literal, subject_chars

cdef int64_t SECOND_NS = 1000000000
cdef enum:
    OFFSET_BYTES = 5
    # `+hh:mm` in place of `Z`.


# ---- what a message says ---------------------------------------------------------------------------------------------------


cdef bint _is_subject(Text subject) noexcept nogil:
    """Whether messages can be published to a subject."""
    cdef uint32_t at
    for at in range(subject.length):
        if subject.chars[at] <= 32 or (
            subject.chars[at] == b"." and (at == 0 or at + 1 == subject.length or subject.chars[at - 1] == b".")
        ):
            return False
    return subject.length > 0 and pattern_is_literal(subject.chars, subject.length)


cdef bint _is_other(Stream* stream, Text subject, Text one, Text other) noexcept nogil:
    """Whether a subject is one of the stream's, and neither of two others."""
    if text_is(subject, one.chars, one.length) or text_is(subject, other.chars, other.length):
        return False
    return _is_subject(subject) and terms_hold(stream.limits.subject_terms, subject.chars, subject.length)


cdef bint _next(const PublishHeaders* headers, int64_t after_ns, int64_t now_ns, int64_t* next_ns, bint* repeats) noexcept nogil:
    """Find when a schedule fires; False: its text makes no sense."""
    cdef const Zone* zone = NULL
    if headers.schedule_zone.chars != NULL:
        zone = zone_find(headers.schedule_zone)
    return schedule_next(headers.schedule, zone, after_ns, now_ns, next_ns, repeats)


cdef int _refusal_of_time(PublishHeaders* headers, int64_t now_ns) noexcept nogil:
    """Judge when a schedule fires."""
    cdef int64_t next_ns
    cdef bint repeats
    if headers.schedule_zone.chars != NULL and not is_cron(headers.schedule):
        return SCHEDULE_PATTERN_INVALID
    if not _next(headers, now_ns, now_ns, &next_ns, &repeats):
        return SCHEDULE_PATTERN_INVALID
    return STORED


cdef int refusal_of_schedule(Stream* stream, const Publish* message, PublishHeaders* headers, int64_t now_ns) noexcept nogil:
    """Judge what a message says of when, where to and how it is to be published; a `Refusal`."""
    cdef int refusal
    cdef Text none
    none.chars = NULL
    none.length = 0
    if headers.schedule_zone.chars != NULL and message.marks & MARK_ZONE_UNKNOWN == MARK_ZONE_UNKNOWN:
        return SCHEDULE_ZONE_INVALID
    if headers.schedule.chars == NULL:
        return STORED
    if not stream.limits.allow_schedules:
        return SCHEDULES_DISABLED
    refusal = _refusal_of_time(headers, now_ns)
    if refusal != STORED:
        return refusal
    if ttl_of_text(headers.schedule_ttl) == TTL_INVALID:
        return SCHEDULE_TTL_INVALID
    if headers.schedule_rollup.chars != NULL and not text_is(headers.schedule_rollup, b"sub", 3):
        return SCHEDULE_ROLLUP_INVALID
    if headers.schedule_ttl.chars != NULL and not stream.limits.allow_ttl:
        return TTL_DISABLED
    if not _is_subject(headers.schedule_target) or text_is(headers.schedule_target, message.subject.chars, message.subject.length):
        return SCHEDULE_TARGET_INVALID
    if headers.schedule_source.chars != NULL and (
        not _is_subject(headers.schedule_source)
        or text_is(headers.schedule_source, headers.schedule_target.chars, headers.schedule_target.length)
        or text_is(headers.schedule_source, message.subject.chars, message.subject.length)
    ):
        return SCHEDULE_SOURCE_INVALID
    if not _is_other(stream, headers.schedule_target, message.subject, none):
        return SCHEDULE_TARGET_INVALID
    if headers.schedule_source.chars != NULL and not _is_other(stream, headers.schedule_source, message.subject, none):
        return SCHEDULE_SOURCE_INVALID
    if headers.rollup.chars != NULL and rollup_kind(headers.rollup) != 1:
        return SCHEDULE_ROLLUP_INVALID
    return STORED


cdef int refusal_of_scheduler(Stream* stream, const Publish* message, PublishHeaders* headers) noexcept nogil:
    """Judge which schedule a message says that it ends; a `Refusal`."""
    cdef Subject* subject
    cdef Record last
    if headers.schedule_next.chars == NULL:
        return SCHEDULER_INVALID if headers.scheduler.chars != NULL else STORED
    if not text_is(headers.schedule_next, b"purge", 5) or not _is_subject(headers.scheduler):
        return SCHEDULER_INVALID
    if text_is(headers.scheduler, message.subject.chars, message.subject.length):
        return SCHEDULER_INVALID
    if not stream.limits.allow_schedules:
        return SCHEDULES_DISABLED
    subject = messages_subject(&stream.messages, headers.scheduler.chars, headers.scheduler.length)
    if subject == NULL:
        return STORED
    last = messages_get_whole(&stream.messages, messages_last_of(&stream.messages, subject))
    if header_value(record_header(&last), last.header_length, b"Nats-Schedule", 13).chars == NULL:
        return SCHEDULER_INVALID
    return STORED


cdef bint schedule_settle(Stream* stream, Publish* message, PublishHeaders* headers) noexcept nogil:
    """Let a schedule take the place of what was on its subject before; False: no memory."""
    if not stream.limits.allow_schedules or headers.schedule.chars == NULL or headers.rollup.chars != NULL:
        return True
    headers.rollup.chars = b"sub"
    headers.rollup.length = 3
    return header_add(stream.header_rooms, &message.header, b"Nats-Rollup", headers.rollup)


cdef void schedule_note(Stream* stream, const PublishHeaders* headers, uint64_t seq, int64_t time_ns) noexcept nogil:
    """Remember when a message that was stored fires, if it is a schedule."""
    cdef int64_t next_ns
    cdef bint repeats
    if headers.schedule.chars != NULL and _next(headers, time_ns, time_ns, &next_ns, &repeats):
        ttls_add(&stream.schedules, next_ns, seq)


# ---- what it does ----------------------------------------------------------------------------------------------------------


cdef int _by_seq(const void* one, const void* other) noexcept nogil:
    cdef uint64_t left = (<const Ttl*> one).seq, right = (<const Ttl*> other).seq
    return (left > right) - (left < right)


cdef bint _is_in_force(Stream* stream, const Record* schedule) noexcept nogil:
    """Whether a schedule is the last one of its subject; what was published by another one does not count."""
    cdef Record last
    if schedule.seq == 0:
        return False
    last = messages_get_whole(&stream.messages, messages_last_of(&stream.messages, schedule.subject))
    if last.seq == schedule.seq:
        return True
    return header_value(record_header(&last), last.header_length, b"Nats-Scheduler", 14).chars != NULL


cdef Record _content(Stream* stream, const Record* schedule, const PublishHeaders* headers) noexcept nogil:
    """Return what a schedule publishes: itself, or the last message of its source."""
    cdef Subject* subject = NULL
    if headers.schedule_source.chars != NULL:
        subject = messages_subject(&stream.messages, headers.schedule_source.chars, headers.schedule_source.length)
    if subject == NULL:
        return schedule[0]
    return messages_get_whole(&stream.messages, messages_last_of(&stream.messages, subject))


cdef uint32_t _write_local(char* to, const PublishHeaders* headers, int64_t time_ns) noexcept nogil:
    """Write a time as the clocks of a schedule's zone show it; return its length, at most TIME_BYTES and OFFSET_BYTES."""
    cdef const Zone* zone = zone_find(headers.schedule_zone) if headers.schedule_zone.chars != NULL else NULL
    cdef int64_t offset = zone_offset(zone, time_ns // SECOND_NS)
    cdef uint32_t length = write_time(to, time_ns + offset * SECOND_NS)
    cdef int64_t minutes = (offset if offset > 0 else -offset) // 60
    cdef char[4] digits
    if minutes == 0:
        return length
    digits[0] = <char> (48 + minutes // 600)
    digits[1] = <char> (48 + minutes // 60 % 10)
    digits[2] = <char> (48 + minutes % 60 // 10)
    digits[3] = <char> (48 + minutes % 10)
    to += length - 1
    to[0] = c"+" if offset > 0 else c"-"
    memcpy(to + 1, digits, 2)
    to[3] = c":"
    memcpy(to + 4, digits + 2, 2)
    return length + OFFSET_BYTES


cdef bint _write_header(
    Stream* stream, Text* header, const Record* schedule, const PublishHeaders* headers, int64_t next_ns
) noexcept nogil:
    """Write the header block of what a schedule publishes; False: no memory.

    Args:
        header: Of the content; becomes what is published.
        next_ns: When it fires again; 0: never.
    """
    cdef char[TIME_BYTES + OFFSET_BYTES] time
    cdef Text text
    if not header_drop_all(stream.header_rooms, header, b"Nats-Schedule") or not header_drop_all(
        stream.header_rooms, header, b"Nats-Expected-"
    ) or not header_drop(stream.header_rooms, header, b"Nats-Msg-Id") or not header_drop(stream.header_rooms, header, b"Nats-TTL"):
        return False
    text.chars = subject_chars(schedule.subject)
    text.length = schedule.subject.length
    if not header_drop(stream.header_rooms, header, b"Nats-Rollup") or not header_add(
        stream.header_rooms, header, b"Nats-Scheduler", text
    ):
        return False
    text.chars = b"purge"
    text.length = 5
    if next_ns:
        text.chars = time
        text.length = _write_local(time, headers, next_ns)
    if not header_add(stream.header_rooms, header, b"Nats-Schedule-Next", text):
        return False
    if headers.schedule_ttl.chars != NULL and not header_add(stream.header_rooms, header, b"Nats-TTL", headers.schedule_ttl):
        return False
    return headers.schedule_rollup.chars == NULL or header_add(stream.header_rooms, header, b"Nats-Rollup", headers.schedule_rollup)


cdef void _publish(Stream* stream, Publish* message, int64_t now_ns) noexcept nogil:
    """Store what a schedule publishes, if the stream takes it."""
    cdef PublishHeaders headers
    cdef Outcome outcome
    memset(&outcome, 0, sizeof(outcome))
    headers_read(&headers, message.header.chars, message.header.length)
    message_transform(stream, message, now_ns)
    if not stream.limits.sealed and has_size(stream, message):
        stream_store(stream, message, &headers, now_ns, &outcome)


cdef void _fire(Stream* stream, uint64_t seq, int64_t at_ns, int64_t now_ns) noexcept nogil:
    """Publish what a schedule says, and remember when it does again."""
    cdef Record schedule = messages_get_whole(&stream.messages, seq)
    cdef Record content
    cdef PublishHeaders headers
    cdef Publish message
    cdef int64_t next_ns = 0
    cdef bint repeats = False
    cdef char* room
    if not _is_in_force(stream, &schedule):
        return
    headers_read(&headers, record_header(&schedule), schedule.header_length)
    if headers.schedule.chars == NULL or not _next(&headers, at_ns, now_ns, &next_ns, &repeats):
        return
    if repeats:
        ttls_add(&stream.schedules, next_ns, seq)
    content = _content(stream, &schedule, &headers)
    room = room_for(&stream.payload_room, <size_t> content.payload_length + headers.schedule_target.length)
    memset(&message, 0, sizeof(message))
    message.header.chars = record_header(&content)
    message.header.length = content.header_length
    if room == NULL or not _write_header(stream, &message.header, &schedule, &headers, next_ns if repeats else 0):
        return
    memcpy(room, record_payload(&content), content.payload_length)
    message.payload.chars = room
    message.payload.length = content.payload_length
    memcpy(room + content.payload_length, headers.schedule_target.chars, headers.schedule_target.length)
    message.subject.chars = room + content.payload_length
    message.subject.length = headers.schedule_target.length
    _publish(stream, &message, now_ns)


cdef void schedules_fire(Stream* stream, int64_t now_ns) noexcept nogil:
    """Publish what schedules say whose time has come, in the order of their sequences."""
    cdef size_t count = 0, at
    cdef Ttl* due
    if stream.schedules.count == 0 or stream.schedules.heap[0].at_ns > now_ns:
        return
    due = <Ttl*> malloc(stream.schedules.count * sizeof(Ttl))
    if due == NULL:
        return
    while stream.schedules.count and stream.schedules.heap[0].at_ns <= now_ns:
        due[count] = stream.schedules.heap[0]
        ttls_take(&stream.schedules, now_ns)
        count += 1
    qsort(due, count, sizeof(Ttl), _by_seq)
    for at in range(count):
        _fire(stream, due[at].seq, due[at].at_ns, now_ns)
    free(due)
