"""Statuses: what clients of consumers are told beside messages, as header blocks without a payload.

Source: ADR-13; nats-server `consumer.go`, `processNextMsgRequest`, `processWaiting`.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from framework.sublist._bytes cimport write_decimal
from framework_jetstream.engine._outbox cimport outbox_add, outbox_chars


cdef uint32_t write_status(char* to, const char* status, uint32_t length) noexcept nogil:
    """Write the first line of a header block; return its length."""
    memcpy(to, b"NATS/1.0 ", 9)
    memcpy(to + 9, status, length)
    memcpy(to + 9 + length, b"\r\n", 2)
    return length + 11


cdef uint32_t write_number(char* to, const char* name, uint32_t length, uint64_t value) noexcept nogil:
    """Write a header whose value is a number; return its length.

    Args:
        name: With the colon and the blank behind it.
    """
    cdef uint32_t digits
    memcpy(to, name, length)
    digits = write_decimal(to + length, value)
    memcpy(to + length + digits, b"\r\n", 2)
    return length + digits + 2


cdef char* status_begun(
    Engine* engine, ConsumerSlot* consumer, const char* to, uint32_t length, framework_message** message
) noexcept nogil:
    """Return room for a header block of a message to a subject; NULL: no memory."""
    cdef char* chars
    message[0] = outbox_add(&engine.outbox, consumer.slot.account, to, length)
    chars = outbox_chars(&engine.outbox, STATUS_BYTES)
    if message[0] == NULL or chars == NULL:
        return NULL
    message[0].header = chars
    return chars


cdef void status_end(framework_message* message, char* chars, uint32_t used) noexcept nogil:
    """End a header block of which so much is written."""
    memcpy(chars + used, b"\r\n", 2)
    message.header_length = used + 2


cdef void request_refuse(Engine* engine, ConsumerSlot* consumer, Text reply, const char* status, uint32_t length) noexcept nogil:
    """Answer a request with a status alone."""
    cdef framework_message* message
    cdef char* chars = status_begun(engine, consumer, reply.chars, reply.length, &message)
    if chars != NULL:
        status_end(message, chars, write_status(chars, status, length))


cdef void request_close(Engine* engine, ConsumerSlot* consumer, Request* request, const char* status, uint32_t length) noexcept nogil:
    """Say that a request has ended, and what it did not get."""
    cdef framework_message* message
    cdef char* chars = status_begun(engine, consumer, <char*> (request + 1), request.reply_length, &message)
    cdef uint32_t used
    if chars == NULL:
        return
    used = write_status(chars, status, length)
    used += write_number(chars + used, b"Nats-Pending-Messages: ", 23, <uint64_t> max(request.left, <int64_t> 0))
    used += write_number(chars + used, b"Nats-Pending-Bytes: ", 20, <uint64_t> request.bytes_left if request.has_bytes else 0)
    status_end(message, chars, used)
