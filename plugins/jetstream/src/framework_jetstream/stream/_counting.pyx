"""Counters: the last message of a subject has what its increments come to, `{"val":"…"}`, and what it has from which source.

Source: ADR-49; nats-server `stream.go`, `processJetStreamMsgWithBatch`.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memchr, memcmp, memcpy

from framework_jetstream.stream._counter_sources cimport count_sourced
from framework_jetstream.stream._decimals cimport Decimal, decimal_of_text, write_sum
from framework_jetstream.stream._header_changes cimport header_set
from framework_jetstream.stream._headers cimport header_value
from framework_jetstream.stream._machine cimport COUNTER_BROKEN, MESSAGE_TOO_LARGE, NO_MEMORY, STORED
from framework_jetstream.stream._judging cimport has_size
from framework_jetstream.stream._messages cimport (
    Record, messages_get_whole, messages_last_of, messages_subject, record_header, record_payload,
)
from framework_jetstream.stream._subject_terms cimport room_for
from framework_jetstream.store._subjects cimport Subject

cdef enum:
    BEFORE_BYTES = 8
    # `{"val":"`
    AFTER_BYTES = 2
    SIGN_AND_CARRY_BYTES = 2


cdef bint counter_value(Text payload, Text* value) noexcept nogil:
    """Find the number in what this server has stored as a counter; False: it is something else."""
    if payload.length < BEFORE_BYTES + AFTER_BYTES or memcmp(payload.chars, b"{\"val\":\"", BEFORE_BYTES) != 0:
        return False
    value.chars = payload.chars + BEFORE_BYTES
    value.length = payload.length - BEFORE_BYTES - AFTER_BYTES
    return memcmp(value.chars + value.length, b"\"}", AFTER_BYTES) == 0 and memchr(value.chars, c"\"", value.length) == NULL


cdef int counter_text(Stream* stream, Text subject, Text* value, Text* sources) noexcept nogil:
    """Find what a subject's counter has come to, and what of it is from where; a `Refusal`. Valid until the stream changes."""
    cdef Subject* found = messages_subject(&stream.messages, subject.chars, subject.length)
    cdef Record last
    cdef Text payload
    value.chars = b"0"
    value.length = 1
    sources.chars = NULL
    sources.length = 0
    if found == NULL:
        return STORED
    last = messages_get_whole(&stream.messages, messages_last_of(&stream.messages, found))
    payload.chars = record_payload(&last)
    payload.length = last.payload_length
    if not counter_value(payload, value):
        return COUNTER_BROKEN
    sources[0] = header_value(record_header(&last), last.header_length, b"Nats-Counter-Sources", 20)
    return STORED


cdef int write_counter(Stream* stream, Publish* message, PublishHeaders* headers, Text before, Text sources, Text* value) noexcept nogil:
    """Let a message have what its counter comes to; a `Refusal`."""
    cdef Decimal number, increment
    cdef uint32_t length
    cdef char* to
    if not decimal_of_text(before, &number) or not decimal_of_text(headers.incr, &increment):
        return COUNTER_BROKEN
    to = room_for(
        &stream.payload_room, <size_t> max(number.length, increment.length) + BEFORE_BYTES + AFTER_BYTES + SIGN_AND_CARRY_BYTES
    )
    if to == NULL:
        return NO_MEMORY
    memcpy(to, b"{\"val\":\"", BEFORE_BYTES)
    length = write_sum(to + BEFORE_BYTES, &number, &increment)
    memcpy(to + BEFORE_BYTES + length, b"\"}", AFTER_BYTES)
    message.payload.chars = to
    message.payload.length = BEFORE_BYTES + length + AFTER_BYTES
    value.chars = to + BEFORE_BYTES
    value.length = length
    if sources.chars != NULL and not header_set(stream.header_rooms, &message.header, b"Nats-Counter-Sources", sources):
        return NO_MEMORY
    return STORED if has_size(stream, message) else MESSAGE_TOO_LARGE


cdef int count_up(Stream* stream, Publish* message, PublishHeaders* headers, Text* value) noexcept nogil:
    """Let a message have what its subject's counter comes to by it; a `Refusal`.

    Args:
        value: Becomes that number.
    """
    cdef Text before, sources
    cdef int refusal = counter_text(stream, message.subject, &before, &sources)
    if refusal != STORED:
        return refusal
    if headers.stream_source.chars != NULL:
        return count_sourced(stream, message, headers, before, sources, value)
    return write_counter(stream, message, headers, before, sources, value)
