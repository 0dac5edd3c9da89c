"""Errors that clients get for violations, and reports of them for the log.

The texts are nats-server's: `client.go`, `pubPermissionViolation`, `replySubjectViolation`, `subPermissionViolation`,
`maxTokensViolation`, `processSubsOnConfigReload`. Each is said to the client; the log hears of VIOLATIONS_A_TICK a tick, and how
many it missed.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memcmp, memcpy, strlen

from framework.dataplane.delivery._delivery cimport record_chars, record_new, trace
from framework.dataplane.links._output cimport output_commit, output_reserve
from framework.dataplane._state cimport RECORD_VIOLATED, Link, Record, State

cdef enum:
    ESCAPED_MAX = 4
    # Bytes that one byte may become between quotes.
    WORDS_BYTES = 128


# ---- what nobody but servers may use ------------------------------------------------------------------------------------


cdef bint is_reserved_group(const char* queue, size_t length) noexcept nogil:
    """Whether only servers are members. Source: nats-server `client.go`, `sysGroup`."""
    return length == 5 and memcmp(queue, b"_sys_", 5) == 0


# ---- the line ----------------------------------------------------------------------------------------------------------


cdef char* _put(char* at, const char* text) noexcept nogil:
    memcpy(at, text, strlen(text))
    return at + strlen(text)


cdef size_t _utf8_length(const unsigned char* at, size_t left) noexcept nogil:
    """Return how many bytes a character takes that is no ASCII; 0: there is none."""
    cdef size_t count = 2 if at[0] & 0xe0 == 0xc0 else 3 if at[0] & 0xf0 == 0xe0 else 4 if at[0] & 0xf8 == 0xf0 else 0
    cdef size_t index
    if count == 0 or count > left or at[0] == 0xc0 or at[0] == 0xc1 or at[0] > 0xf4:
        return 0
    for index in range(1, count):
        if at[index] & 0xc0 != 0x80:
            return 0
    return count


cdef char* _put_quoted(char* at, const char* text, size_t length) noexcept nogil:
    """Write text between quotes, as Go's `%q` does: what is not printable ASCII or UTF-8 is escaped."""
    cdef const char* digits = b"0123456789abcdef"
    cdef size_t index = 0
    cdef size_t count
    cdef unsigned char c
    at[0] = c'"'
    at += 1
    while index < length:
        c = <unsigned char> text[index]
        count = _utf8_length(<const unsigned char*> text + index, length - index) if c >= 0x80 else c >= 0x20 and c != 0x7f
        if count == 0:
            memcpy(at, b"\\x", 2)
            at[2] = digits[c >> 4]
            at[3] = digits[c & 15]
            at += 4
            index += 1
            continue
        if c == c'"' or c == c"\\":
            at[0] = c"\\"
            at += 1
        memcpy(at, text + index, count)
        at += count
        index += count
    at[0] = c'"'
    return at + 1


cdef void violation_say(
    State* state, Link* link, ViolationC violation, const char* subject, size_t length, const char* queue, size_t queue_length,
    const char* sid, size_t sid_length
) noexcept nogil:
    """Say `-ERR` to a client, which stays, and report it."""
    cdef char* room = output_reserve(state, link, ESCAPED_MAX * (length + queue_length + sid_length) + WORDS_BYTES)
    cdef char* at = room
    if room == NULL:
        return
    at = _put(at, b"-ERR 'Permissions Violation for ")
    if violation == PUBLISH_SUBJECT:
        at = _put(at, b"Publish to ")
    elif violation == PUBLISH_REPLY:
        at = _put(at, b"Publish with Reply of ")
    else:
        at = _put(at, b"Subscription to ")
    at = _put_quoted(at, subject, length)
    if queue_length and violation != SUBSCRIBE_TOKENS:
        at = _put_quoted(_put(at, b" using queue "), queue, queue_length)
    if violation == SUBSCRIBE_TOKENS:
        at = _put(at, b", too many tokens")
    elif violation == SUBSCRIPTION_ENDED:
        at = _put(_put_quoted(_put(at, b" (sid "), sid, sid_length), b")")
    at = _put(at, b"'\r\n")
    trace(state, link, False, room, at - room)
    output_commit(state, link, at - room)
    _report(state, link, violation, subject, length, queue, queue_length, sid, sid_length)


cdef void _report(
    State* state, Link* link, ViolationC violation, const char* subject, size_t length, const char* queue, size_t queue_length,
    const char* sid, size_t sid_length
) noexcept nogil:
    cdef ViolationRecord head
    cdef Record* record
    cdef char* at
    if state.violations_left == 0:
        state.violations_missed += 1
        return
    record = record_new(state, RECORD_VIOLATED, link, sizeof(head) + length + queue_length + sid_length)
    if record == NULL:
        return
    state.violations_left -= 1
    record.number = violation
    head.subject_length = <uint32_t> length
    head.queue_length = <uint32_t> queue_length
    head.missed = state.violations_missed
    state.violations_missed = 0
    at = record_chars(record)
    memcpy(at, &head, sizeof(head))
    at += sizeof(head)
    memcpy(at, subject, length)
    memcpy(at + length, queue, queue_length)
    memcpy(at + length + queue_length, sid, sid_length)
