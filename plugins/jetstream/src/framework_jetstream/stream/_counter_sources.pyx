"""Counters that come from other streams: a stream counts by what each source has counted up since it was heard last.

What that was stands in the header `Nats-Counter-Sources` of the last message of a subject, by stream and subject of the source:

    {"S":{"s.a":"5"},"T":{"s.a":"7"}}

Keys are in order, and nothing stands between the texts.

Source: ADR-49; nats-server `stream.go`, `processJetStreamMsgWithBatch`.
"""

from libc.stdint cimport uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp, memcpy

from framework_jetstream.stream._counting cimport counter_value, write_counter
from framework_jetstream.stream._decimals cimport Decimal, decimal_of_text, write_sum
from framework_jetstream.stream._header_changes cimport header_set
from framework_jetstream.stream._machine cimport COUNTER_BROKEN, NO_MEMORY

cdef enum:
    ESCAPED_MAX = 6
    # Bytes that a character may become in JSON.
    PUNCTUATION_BYTES = 16
    ORIGIN_FIELDS = 5
    # Of `Nats-Stream-Source`: stream, sequence, filter, transform, subject.


# ---- JSON ----------------------------------------------------------------------------------------------------------------


cdef const char* _behind_text(const char* at, const char* end) noexcept nogil:
    """Return what stands behind a text with its quotation marks; NULL: it has no end."""
    if at == end or at[0] != c"\"":
        return NULL
    at += 1
    while at < end and at[0] != c"\"":
        at += 2 if at[0] == c"\\" else 1
    return at + 1 if at < end else NULL


cdef const char* _behind_value(const char* at, const char* end) noexcept nogil:
    """Return what stands behind a text, or an object of texts; NULL: it is neither."""
    if at == end or at[0] != c"{":
        return _behind_text(at, end)
    at += 1
    while at < end and at[0] != c"}":
        if at[0] == c"\"":
            at = _behind_text(at, end)
            if at == NULL:
                return NULL
        else:
            at += 1
    return at + 1 if at < end else NULL


cdef bint _next_pair(const char** at, const char* end, Text* key, Text* value) noexcept nogil:
    """Read a key with its quotation marks, and its value; False: there is none more, or it makes no sense."""
    cdef const char* begin = at[0] + 1
    cdef const char* behind
    if at[0] >= end or (at[0][0] != c"{" and at[0][0] != c","):
        return False
    behind = _behind_text(begin, end)
    if behind == NULL or behind == end or behind[0] != c":":
        return False
    key.chars = begin
    key.length = <uint32_t> (behind - begin)
    value.chars = behind + 1
    behind = _behind_value(behind + 1, end)
    if behind == NULL:
        return False
    value.length = <uint32_t> (behind - value.chars)
    at[0] = behind
    return True


cdef int _order(Text one, Text other) noexcept nogil:
    cdef int order = memcmp(one.chars, other.chars, min(one.length, other.length))
    return order if order else <int> one.length - <int> other.length


cdef Text _value_in(Text object_, Text key) noexcept nogil:
    """Return the value of a key, which has its quotation marks; NULL: there is none."""
    cdef const char* at = object_.chars
    cdef Text found, value
    while at != NULL and _next_pair(&at, object_.chars + object_.length, &found, &value):
        if _order(found, key) == 0:
            return value
    value.chars = NULL
    value.length = 0
    return value


cdef void _add_pair(Text* to, Text key, Text value) noexcept nogil:
    cdef char* at = <char*> to.chars
    if to.length > 1:
        at[to.length] = c","
        to.length += 1
    memcpy(at + to.length, key.chars, key.length)
    to.length += key.length
    at[to.length] = c":"
    memcpy(at + to.length + 1, value.chars, value.length)
    to.length += value.length + 1


cdef void _write_with(Text* to, Text object_, Text key, Text value) noexcept nogil:
    """Write an object in which a key has a value; the object may be absent."""
    cdef const char* at = object_.chars
    cdef Text known, other
    cdef bint is_there = False
    (<char*> to.chars)[0] = c"{"
    to.length = 1
    while at != NULL and _next_pair(&at, object_.chars + object_.length, &known, &other):
        if not is_there and _order(known, key) >= 0:
            _add_pair(to, key, value)
            is_there = True
        if _order(known, key) != 0:
            _add_pair(to, known, other)
    if not is_there:
        _add_pair(to, key, value)
    (<char*> to.chars)[to.length] = c"}"
    to.length += 1


# ---- a counter -------------------------------------------------------------------------------------------------------------


cdef Text _quoted(char** room, Text text) noexcept nogil:
    """Write a text as Go writes it in JSON into memory; that is as long as it becomes."""
    cdef const char* digits = b"0123456789abcdef"
    cdef Text written
    cdef char* to = room[0] + 1
    cdef uint32_t at
    cdef unsigned char char_
    room[0][0] = c"\""
    for at in range(text.length):
        char_ = <unsigned char> text.chars[at]
        if char_ == c"\"" or char_ == c"\\":
            to[0] = c"\\"
            to += 1
        if char_ < 32 or char_ == c"<" or char_ == c">" or char_ == c"&":
            memcpy(to, b"\\u00", 4)
            to[4] = digits[char_ >> 4]
            to[5] = digits[char_ & 15]
            to += ESCAPED_MAX
        else:
            to[0] = <char> char_
            to += 1
    to[0] = c"\""
    written.chars = room[0]
    written.length = <uint32_t> (to + 1 - room[0])
    room[0] = to + 1
    return written


cdef void _read_origin(const PublishHeaders* headers, Text* stream_name, Text* subject) noexcept nogil:
    """Read the stream that a message comes from, and its subject there, where the header says it."""
    cdef const char* at = headers.stream_source.chars
    cdef const char* end = at + headers.stream_source.length
    cdef const char* stop
    cdef int field
    for field in range(ORIGIN_FIELDS):
        stop = <const char*> memchr(at, c" ", end - at)
        if stop == NULL:
            stop = end
        if field == 0:
            stream_name.chars = at
            stream_name.length = <uint32_t> (stop - at)
        elif field == ORIGIN_FIELDS - 1:
            subject.chars = at
            subject.length = <uint32_t> (stop - at)
        if stop == end:
            return
        at = stop + 1


cdef Text _previous(Text object_, Text key) noexcept nogil:
    """Return what a source had counted when it was heard last; none: it was not."""
    cdef Text found = _value_in(object_, key)
    if found.length >= 2:
        found.chars += 1
        found.length -= 2
    return found


cdef int _counted(
    Stream* stream, Publish* message, PublishHeaders* headers, Text before, Text sources, Text sourced, char* room, Text* value
) noexcept nogil:
    """Count by what a source has counted since; a `Refusal`."""
    cdef Text name, subject, key, inner, previous, one, written
    cdef Decimal now, then
    subject = message.subject
    _read_origin(headers, &name, &subject)
    name = _quoted(&room, name)
    key = _quoted(&room, subject)
    inner = _value_in(sources, name)
    previous = _previous(inner, key)
    if not decimal_of_text(sourced, &now):
        return COUNTER_BROKEN
    if previous.chars == NULL or not decimal_of_text(previous, &then):
        then.length = 0
        then.digits = sourced.chars
        then.is_negative = False
    then.is_negative = then.length and not then.is_negative
    headers.incr.chars = room
    headers.incr.length = write_sum(room, &now, &then)
    room += headers.incr.length
    one = _quoted(&room, sourced)
    written.chars = room
    _write_with(&written, inner, key, one)
    room += written.length
    one = written
    written.chars = room
    _write_with(&written, sources, name, one)
    if not header_set(stream.header_rooms, &message.header, b"Nats-Incr", headers.incr):
        return NO_MEMORY
    return write_counter(stream, message, headers, before, written, value)


cdef int count_sourced(
    Stream* stream, Publish* message, PublishHeaders* headers, Text before, Text sources, Text* value
) noexcept nogil:
    """Let a message of a source have what its subject's counter comes to by it; a `Refusal`.

    Args:
        before: What the counter has come to, and `sources` what of it is from where.
        value: Becomes that number.
    """
    cdef Text sourced
    cdef size_t names = ESCAPED_MAX * (<size_t> headers.stream_source.length + message.subject.length)
    cdef char* room
    cdef int refusal
    if not counter_value(message.payload, &sourced):
        return COUNTER_BROKEN
    room = <char*> malloc(4 * (names + sources.length + sourced.length + PUNCTUATION_BYTES))
    if room == NULL:
        return NO_MEMORY
    refusal = _counted(stream, message, headers, before, sources, sourced, room, value)
    free(room)
    return refusal
