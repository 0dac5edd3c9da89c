"""Messages on their way to a stream, and the PubAcks that answer them.

Source: nats-server `stream.go`, `PubAck`, `JSPubAckResponse`.
"""

from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy, memset

from framework.sublist._bytes cimport write_decimal
from framework_jetstream.engine._outbox cimport outbox_add, outbox_chars
from framework_jetstream.engine._port cimport framework_message
from framework_jetstream.engine._retention cimport retention_stored
from framework_jetstream.engine._stream_commands cimport slot_expire
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._machine cimport STORED, WRONG_LAST_SEQ, Outcome, Publish, stream_publish

cdef int64_t NEVER = <int64_t> 0x7fffffffffffffff

cdef enum:
    DECIMAL_BYTES = 20
    DUPLICATE_BYTES = 19


cdef uint32_t _write(char* to, Text text) noexcept nogil:
    memcpy(to, text.chars, text.length)
    return text.length


cdef uint32_t _write_id(char* to, Text id) noexcept nogil:
    """Write what a client has chosen as part of a JSON string."""
    cdef const char* digits = b"0123456789abcdef"
    cdef uint32_t at, written = 0
    cdef unsigned char char
    for at in range(id.length):
        char = <unsigned char> id.chars[at]
        if char == 34 or char == 92 or char < 32:
            memcpy(to + written, b"\\u00", 4)
            to[written + 4] = digits[char >> 4]
            to[written + 5] = digits[char & 15]
            written += 6
        else:
            to[written] = <char> char
            written += 1
    return written


cdef void _acknowledge(Engine* engine, Slot* slot, const char* reply, uint32_t reply_length, Outcome* outcome) noexcept nogil:
    """Answer a publisher."""
    cdef framework_message* message = outbox_add(&engine.outbox, slot.account, reply, reply_length)
    cdef Text refusal
    cdef char* chars
    cdef uint32_t used
    if message == NULL:
        return
    if outcome.refusal == STORED:
        chars = outbox_chars(&engine.outbox, slot.ack.length + DECIMAL_BYTES + DUPLICATE_BYTES)
        if chars == NULL:
            return
        used = _write(chars, slot.ack)
        used += write_decimal(chars + used, outcome.seq)
        if outcome.is_duplicate:
            memcpy(chars + used, b",\"duplicate\": true}", DUPLICATE_BYTES)
            used += DUPLICATE_BYTES
        else:
            chars[used] = b"}"
            used += 1
    else:
        refusal = engine.refusals[outcome.refusal]
        chars = outbox_chars(
            &engine.outbox,
            refusal.length + 6 * outcome.shown.length + DECIMAL_BYTES + engine.refusal_ends[outcome.refusal].length
            + slot.ack_refused.length,
        )
        if chars == NULL:
            return
        used = _write(chars, refusal)
        if outcome.shown.chars != NULL:
            used += _write_id(chars + used, outcome.shown)
        elif outcome.refusal == WRONG_LAST_SEQ:
            used += write_decimal(chars + used, outcome.seq)
        used += _write(chars + used, engine.refusal_ends[outcome.refusal])
        used += _write(chars + used, slot.ack_refused)
    message.payload = chars
    message.payload_length = used


cdef void publish_refuse(Engine* engine, Slot* slot, const char* reply, uint32_t length, int refusal) noexcept nogil:
    """Tell a publisher that its message is not stored."""
    cdef Outcome outcome
    memset(&outcome, 0, sizeof(outcome))
    outcome.refusal = refusal
    _acknowledge(engine, slot, reply, length, &outcome)


cdef void publish_apply(Engine* engine, Slot* slot, const Publish* publish, Text reply, int64_t now_ns) noexcept nogil:
    """Let a stream take a message, and answer it.

    Args:
        reply: Where to; `length` 0: nowhere.
        now_ns: Unix time of its entry.
    """
    cdef Outcome outcome
    stream_publish(&slot.stream, publish, now_ns, &outcome)
    if outcome.refusal == STORED and not outcome.is_duplicate:
        retention_stored(slot, outcome.seq)
    if (slot.expires_ns == NEVER and (slot.stream.limits.max_age_ns > 0 or publish.header.length)) or (
        slot.stream.ttls.count and slot.stream.ttls.heap[0].at_ns < slot.expires_ns
    ):
        slot_expire(engine, slot)
    if reply.length and not slot.stream.limits.no_ack:
        _acknowledge(engine, slot, reply.chars, reply.length, &outcome)


cdef void publish_row(Engine* engine, Slot* slot, const framework_batch* batch, const framework_row* row) noexcept nogil:
    """Apply a message that came for a stream in memory."""
    cdef Publish publish
    cdef Text reply
    publish.subject.chars = batch.chars + row.at
    publish.subject.length = row.subject_length
    reply.chars = publish.subject.chars + row.subject_length
    reply.length = row.reply_length
    publish.header.chars = reply.chars + row.reply_length
    publish.header.length = row.header_length
    publish.payload.chars = publish.header.chars + row.header_length
    publish.payload.length = row.payload_length
    publish_apply(engine, slot, &publish, reply, engine.unix_ns)
