"""Headers of messages that streams look at. Names are compared with their case; of a header that is there twice the first counts.

Source: nats-server `stream.go`, names of headers; `client.go`, `sliceHeader`.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memchr, memcmp, memset

cdef extern from "strings.h" nogil:
    int strncasecmp(const char* left, const char* right, size_t length)

cdef enum:
    SECONDS_MAX = 9000000000
    SECOND_NS = 1000000000


cdef bint text_is(Text text, const char* other, size_t length) noexcept nogil:
    return text.length == length and memcmp(text.chars, other, length) == 0


cdef uint64_t seq_of_text(Text text) noexcept nogil:
    """Return the number that a text is; what is none is one that no sequence reaches."""
    cdef uint64_t value = 0
    cdef uint64_t at
    if text.length == 0 or text.length > 18:
        return <uint64_t> -1
    for at in range(text.length):
        if text.chars[at] < b"0" or text.chars[at] > b"9":
            return <uint64_t> -1
        value = value * 10 + <uint64_t> (text.chars[at] - 48)
    return value


cdef Text* _wanted(PublishHeaders* headers, const char* name, size_t length) noexcept nogil:
    """Return where the value of a header goes, whose name begins with `Nats-`; NULL: nobody looks at it."""
    if length == 11 and memcmp(name, b"Nats-Msg-Id", 11) == 0:
        return &headers.msg_id
    if length == 8 and memcmp(name, b"Nats-TTL", 8) == 0:
        return &headers.ttl
    if length == 9 and memcmp(name, b"Nats-Incr", 9) == 0:
        return &headers.incr
    if length == 11 and memcmp(name, b"Nats-Rollup", 11) == 0:
        return &headers.rollup
    if length == 13 and memcmp(name, b"Nats-Batch-Id", 13) == 0:
        return &headers.batch_id
    if length >= 13 and memcmp(name, b"Nats-Schedule", 13) == 0:
        return _of_schedule(headers, name + 13, length - 13)
    if length == 18 and memcmp(name, b"Nats-Stream-Source", 18) == 0:
        return &headers.stream_source
    if length >= 20 and memcmp(name, b"Nats-Expected-", 14) == 0:
        return _expected(headers, name, length)
    if length == 19 and memcmp(name, b"Nats-Batch-Sequence", 19) == 0:
        return &headers.batch_seq
    if length == 17 and memcmp(name, b"Nats-Batch-Commit", 17) == 0:
        return &headers.batch_commit
    if length == 20 and memcmp(name, b"Nats-Counter-Sources", 20) == 0:
        return &headers.counter_sources
    if length == 23 and memcmp(name, b"Nats-Required-Api-Level", 23) == 0:
        return &headers.required_level
    return NULL


cdef Text* _of_schedule(PublishHeaders* headers, const char* name, size_t length) noexcept nogil:
    """Return where the value of a header goes, by what follows `Nats-Schedule` in its name; NULL: nobody looks at it."""
    if length == 0:
        return &headers.schedule
    if length == 1 and name[0] == b"r":
        return &headers.scheduler
    if length == 4 and memcmp(name, b"-TTL", 4) == 0:
        return &headers.schedule_ttl
    if length == 5 and memcmp(name, b"-Next", 5) == 0:
        return &headers.schedule_next
    if length == 7 and memcmp(name, b"-Target", 7) == 0:
        return &headers.schedule_target
    if length == 7 and memcmp(name, b"-Source", 7) == 0:
        return &headers.schedule_source
    if length == 7 and memcmp(name, b"-Rollup", 7) == 0:
        return &headers.schedule_rollup
    return &headers.schedule_zone if length == 10 and memcmp(name, b"-Time-Zone", 10) == 0 else NULL


cdef Text* _expected(PublishHeaders* headers, const char* name, size_t length) noexcept nogil:
    """Return where the value of a header goes, whose name begins with `Nats-Expected-`; NULL: nobody looks at it."""
    name += 14
    length -= 14
    if length == 6 and memcmp(name, b"Stream", 6) == 0:
        return &headers.expected_stream
    if length == 13 and memcmp(name, b"Last-Sequence", 13) == 0:
        return &headers.expected_last_seq
    if length == 11 and memcmp(name, b"Last-Msg-Id", 11) == 0:
        return &headers.expected_last_msg_id
    if length == 21 and memcmp(name, b"Last-Subject-Sequence", 21) == 0:
        return &headers.expected_last_subject_seq
    if length == 29 and memcmp(name, b"Last-Subject-Sequence-Subject", 29) == 0:
        return &headers.expected_last_subject
    return NULL


cdef Text _value(const char* colon, const char* end) noexcept nogil:
    """Return what follows a colon, up to the end of its line, without blanks around it; empty is absent."""
    cdef Text text
    cdef const char* start = colon + 1
    if end > start and end[-1] == b"\r":
        end -= 1
    while start < end and start[0] == b" ":
        start += 1
    while end > start and end[-1] == b" ":
        end -= 1
    text.chars = start if end > start else NULL
    text.length = <uint32_t> (end - start)
    return text


cdef void headers_read(PublishHeaders* headers, const char* block, size_t length) noexcept nogil:
    """Find the headers that streams look at in a header block."""
    cdef const char* end = block + length
    cdef const char* line_end
    cdef const char* colon
    cdef Text* wanted
    memset(headers, 0, sizeof(PublishHeaders))
    block = <const char*> memchr(block, c"\n", length)
    while block != NULL and block + 1 < end:
        block += 1
        line_end = <const char*> memchr(block, c"\n", end - block)
        if line_end == NULL:
            line_end = end
        if line_end - block > 8 and memcmp(block, b"Nats-", 5) == 0:
            colon = <const char*> memchr(block, c":", line_end - block)
            wanted = _wanted(headers, block, colon - block) if colon != NULL else NULL
            if wanted != NULL and wanted.chars == NULL:
                wanted[0] = _value(colon, line_end)
        block = line_end if line_end < end else NULL


cdef Text header_value(const char* block, size_t length, const char* name, size_t name_length) noexcept nogil:
    """Return the value of one header of a block."""
    cdef const char* end = block + length
    cdef const char* line_end
    cdef Text none
    none.chars = NULL
    none.length = 0
    block = <const char*> memchr(block, c"\n", length)
    while block != NULL and block + 1 < end:
        block += 1
        line_end = <const char*> memchr(block, c"\n", end - block)
        if line_end == NULL:
            line_end = end
        if <size_t> (line_end - block) > name_length and block[name_length] == b":" and memcmp(block, name, name_length) == 0:
            return _value(block + name_length, line_end)
        block = line_end if line_end < end else NULL
    return none


cdef double _unit_ns(const char* at, const char* end, size_t* length) noexcept nogil:
    """Return how many nanoseconds a unit of Go's durations has, and its length; 0: it is none."""
    length[0] = 2
    if end - at >= 2 and at[1] == b"s":
        if at[0] == b"n":
            return 1
        if at[0] == b"u":
            return 1e3
        if at[0] == b"m":
            return 1e6
    length[0] = 1
    if at < end:
        if at[0] == b"s":
            return 1e9
        if at[0] == b"m":
            return 60e9
        if at[0] == b"h":
            return 3600e9
    return 0


cdef int64_t duration_of_text(Text text) noexcept nogil:
    """Return the nanoseconds of a duration as Go writes them, such as `1h30m` or `1.5s`; DURATION_INVALID: it is none, or below 0.

    Source: Go, `time.ParseDuration`.
    """
    cdef const char* at = text.chars
    cdef const char* end = text.chars + text.length
    cdef double total = 0, value, scale, unit
    cdef size_t length
    if text_is(text, b"0", 1):
        return 0
    if at < end and at[0] == b"+":
        at += 1
    if at == end:
        return DURATION_INVALID
    while at < end:
        value = 0
        scale = 0
        if at[0] < b"0" or at[0] > b"9":
            return DURATION_INVALID
        while at < end and (48 <= at[0] <= 57 or (at[0] == b"." and scale == 0)):
            if at[0] == b".":
                scale = 1
            else:
                value = value * 10 + (at[0] - 48)
                scale *= 10
            at += 1
        unit = _unit_ns(at, end, &length)
        if unit == 0:
            return DURATION_INVALID
        total += value / (scale if scale > 0 else 1) * unit
        at += length
    return <int64_t> total if total < 9.2e18 else DURATION_INVALID


cdef int64_t ttl_of_text(Text text) noexcept nogil:
    """Return the time to live that a header says, in nanoseconds: seconds, a duration such as `1h30m`, or `never`.

    Source: nats-server `stream.go`, `parseMessageTTL`.
    """
    cdef int64_t duration_ns
    cdef uint64_t seconds
    if text.chars == NULL:
        return TTL_NONE
    if text.length == 5 and strncasecmp(text.chars, b"never", 5) == 0:
        return TTL_NEVER
    if text_is(text, b"0", 1):
        return TTL_INVALID
    seconds = seq_of_text(text)
    if seconds != <uint64_t> -1:
        if seconds > SECONDS_MAX:
            return TTL_INVALID
        return <int64_t> seconds * SECOND_NS
    duration_ns = duration_of_text(text)
    # Whole seconds count.
    return duration_ns - duration_ns % SECOND_NS if duration_ns >= SECOND_NS else TTL_INVALID
