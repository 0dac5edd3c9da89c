"""Messages and ids that are too old, by the age that the stream allows or by a time to live of their own.

Where a stream has markers, the last message of a subject does not just go: a marker without payload takes its place, which rolls up the
subject and ends by itself. A marker leaves none, and neither does what a client has put as one.

Source: ADR-43; nats-server `memstore.go`, `expireMsgs`, `handleRemovalOrSdm`; `sdm.go`.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from framework_jetstream.engine._times cimport write_duration
from framework_jetstream.stream._dedupe cimport dedupe_expire
from framework_jetstream.stream._headers cimport TTL_NEVER, PublishHeaders, header_value, headers_read, text_is, ttl_of_text
from framework_jetstream.stream._judging cimport has_size
from framework_jetstream.stream._machine cimport STORED, Outcome, Publish, message_transform, stream_delete, stream_store
from framework_jetstream.stream._messages cimport Record, messages_get, messages_get_whole, messages_next, record_header
from framework_jetstream.stream._scheduling cimport schedules_fire
from framework_jetstream.stream._subject_terms cimport room_for
from framework_jetstream.stream._ttls cimport ttls_take
from framework_jetstream.store._subjects cimport subject_chars

cdef enum:
    MARKER_BYTES = 160
    # Of a header block, with a duration.

cdef int64_t NEVER = <int64_t> 0x7fffffffffffffff


cdef bint _is_marker(const Record* record) noexcept nogil:
    if header_value(record_header(record), record.header_length, b"Nats-Marker-Reason", 18).chars != NULL:
        return True
    return text_is(header_value(record_header(record), record.header_length, b"KV-Operation", 12), b"PURGE", 5)


cdef uint32_t _write_marker(char* to, int64_t ttl_ns) noexcept nogil:
    """Write the header block of a marker."""
    cdef uint32_t used
    memcpy(to, b"NATS/1.0\r\nNats-Marker-Reason: MaxAge\r\nNats-TTL: ", 48)
    used = 48 + write_duration(to + 48, ttl_ns)
    memcpy(to + used, b"\r\nNats-Rollup: sub\r\n\r\n", 22)
    return used + 22


cdef bint _leave_marker(Stream* stream, const Record* record, int64_t now_ns) noexcept nogil:
    """Put a marker in the place of a message; False: the stream takes none."""
    cdef char[MARKER_BYTES] header
    cdef PublishHeaders headers
    cdef Publish marker
    cdef Outcome outcome
    cdef uint32_t length = record.subject.length
    cdef char* subject = room_for(&stream.payload_room, length)
    if subject == NULL or stream.limits.sealed:
        return False
    memset(&marker, 0, sizeof(marker))
    memset(&outcome, 0, sizeof(outcome))
    memcpy(subject, subject_chars(record.subject), length)
    marker.subject.chars = subject
    marker.subject.length = length
    marker.header.chars = header
    marker.header.length = _write_marker(header, stream.limits.marker_ttl_ns - stream.limits.marker_ttl_ns % 1000000000)
    message_transform(stream, &marker, now_ns)
    headers_read(&headers, marker.header.chars, marker.header.length)
    return has_size(stream, &marker) and stream_store(stream, &marker, &headers, now_ns, &outcome) == STORED


cdef void _end(Stream* stream, uint64_t seq, int64_t now_ns) noexcept nogil:
    """Remove a message whose time is over."""
    cdef Record record = messages_get(&stream.messages, seq)
    if record.seq == 0:
        return
    if stream.limits.marker_ttl_ns > 0 and record.subject.count == 1:
        record = messages_get_whole(&stream.messages, seq)
        if not _is_marker(&record):
            _leave_marker(stream, &record, now_ns)
    stream_delete(stream, seq)


cdef bint _outlives_others(Stream* stream, const Record* record) noexcept nogil:
    """Whether a message is older than others may be, and stays."""
    cdef Record whole
    if not stream.limits.allow_ttl or record.header_length == 0:
        return False
    whole = messages_get_whole(&stream.messages, record.seq)
    return ttl_of_text(header_value(record_header(&whole), whole.header_length, b"Nats-TTL", 8)) == TTL_NEVER


cdef int64_t stream_expire(Stream* stream, int64_t now_ns) noexcept nogil:
    """Forget messages and ids that are too old, publish what schedules say; return when there is more, far off if there is nothing."""
    cdef Record record
    cdef int64_t next_ns = NEVER
    cdef uint64_t seq
    dedupe_expire(&stream.dedupe, now_ns - stream.limits.duplicate_window_ns)
    if stream.dedupe.first != NULL:
        next_ns = stream.dedupe.first.time_ns + stream.limits.duplicate_window_ns + 1
    seq = ttls_take(&stream.ttls, now_ns)
    while seq:
        _end(stream, seq, now_ns)
        seq = ttls_take(&stream.ttls, now_ns)
    if stream.limits.max_age_ns > 0:
        record = messages_next(&stream.messages, 0)
        while record.seq:
            if record.time_ns > now_ns - stream.limits.max_age_ns:
                next_ns = min(next_ns, record.time_ns + stream.limits.max_age_ns)
                break
            seq = record.seq
            if not _outlives_others(stream, &record):
                _end(stream, seq, now_ns)
            record = messages_next(&stream.messages, seq + 1)
    schedules_fire(stream, now_ns)
    if stream.ttls.count:
        next_ns = min(next_ns, stream.ttls.heap[0].at_ns)
    if stream.schedules.count:
        next_ns = min(next_ns, stream.schedules.heap[0].at_ns)
    return next_ns
