"""Messages on their way to a stream, and the PubAcks that answer them.

Source: nats-server `stream.go`, `PubAck`, `JSPubAckResponse`.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from framework_jetstream.engine._accounts cimport marks_of
from framework_jetstream.engine._advisories cimport advise_abandoned
from framework_jetstream.engine._flows cimport flows_say
from framework_jetstream.engine._groups cimport group_speaks
from framework_jetstream.engine._outbox cimport outbox_add, outbox_chars
from framework_jetstream.engine._port cimport framework_message
from framework_jetstream.engine._pubacks cimport puback_bytes, write_refused, write_stored
from framework_jetstream.engine._republishing cimport republish
from framework_jetstream.engine._retention cimport retention_stored, retention_wants
from framework_jetstream.engine._stream_commands cimport slot_expire
from framework_jetstream.sourcing._inputs cimport input_refused
from framework_jetstream.stream._fast_publishing cimport is_fast
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._machine cimport (
    RETENTION_INTEREST, STORED, Outcome, Publish, Stream, stream_publish,
)
from framework_jetstream.stream._ttls cimport Ttls

cdef int64_t NEVER = <int64_t> 0x7fffffffffffffff


cdef void _acknowledge(Engine* engine, Slot* slot, const char* reply, uint32_t reply_length, Outcome* outcome) noexcept nogil:
    """Answer a publisher: with nothing, as long as its message waits for others."""
    cdef framework_message* message = outbox_add(&engine.outbox, slot.account, reply, reply_length)
    cdef char* chars
    if message == NULL or outcome.is_staged:
        return
    chars = outbox_chars(&engine.outbox, puback_bytes(engine, slot, outcome))
    if chars == NULL:
        return
    message.payload = chars
    if outcome.refusal == STORED:
        message.payload_length = write_stored(chars, slot, outcome)
    else:
        message.payload_length = write_refused(chars, engine, outcome)
        memcpy(chars + message.payload_length, slot.ack_refused.chars, slot.ack_refused.length)
        message.payload_length += slot.ack_refused.length


cdef void publish_refuse(Engine* engine, Slot* slot, const char* reply, uint32_t length, int refusal) noexcept nogil:
    """Tell a publisher that its message is not stored."""
    cdef Outcome outcome
    memset(&outcome, 0, sizeof(outcome))
    outcome.refusal = refusal
    _acknowledge(engine, slot, reply, length, &outcome)


cdef void publish_unserved(Engine* engine, Slot* slot, const char* reply, uint32_t length) noexcept nogil:
    """Tell a publisher what it hears where nobody serves a subject: its message is not stored, and libraries try again."""
    cdef framework_message* message = outbox_add(&engine.outbox, slot.account, reply, length)
    if message != NULL:
        message.header = b"NATS/1.0 503\r\n\r\n"
        message.header_length = 16


cdef bint _ends_earlier(Engine* engine, Slot* slot, const Publish* publish, const Outcome* outcome, int64_t now_ns) noexcept nogil:
    """Whether a message has brought something that its time ends before it is looked at again."""
    cdef const Ttls* ttls = &slot.stream.ttls
    cdef const Ttls* schedules = &slot.stream.schedules
    if slot.expires_ns == NEVER and (slot.stream.limits.max_age_ns > 0 or publish.header.length):
        return True
    if (outcome.is_staged or publish.reply.length) and slot.expires_ns > now_ns + engine.batch_terms.timeout_ns:
        return True
    return (ttls.count and ttls.heap[0].at_ns < slot.expires_ns) or (
        schedules.count and schedules.heap[0].at_ns < slot.expires_ns
    )


cdef void publish_apply(Engine* engine, Slot* slot, const Publish* publish, Text reply, int64_t now_ns) noexcept nogil:
    """Let a stream take a message, and answer it.

    Args:
        reply: Where to; `length` 0: nowhere.
        now_ns: Unix time of its entry.
    """
    cdef Outcome outcome
    stream_publish(&slot.stream, publish, now_ns, &outcome)
    if outcome.abandoned and group_speaks(engine, slot.group):
        advise_abandoned(engine, slot, outcome.batch_id, outcome.abandoned)
    if publish.giver and outcome.refusal != STORED:
        input_refused(engine, slot, publish.input)
    if reply.length and not slot.stream.limits.no_ack:
        flows_say(engine, slot, reply, &outcome)
        if not outcome.is_silent:
            _acknowledge(engine, slot, reply.chars, reply.length, &outcome)
    if _ends_earlier(engine, slot, publish, &outcome, now_ns):
        slot_expire(engine, slot)


cdef void message_stored(Stream* stream, const Publish* message, uint64_t seq, uint64_t before, int64_t time_ns) noexcept nogil:
    """Let a message go that nobody wants, and publish it again where its stream says so; called when it was stored.

    Args:
        before: The sequence of the last message with its subject; 0: there was none.
    """
    cdef Slot* slot = <Slot*> stream.owner
    if not group_speaks(slot.engine, slot.group):
        return
    retention_stored(slot, seq)
    if stream.limits.subject_terms == NULL or stream.limits.subject_terms.republish == NULL:
        return
    if stream.limits.retention != RETENTION_INTEREST or retention_wants(stream, message.subject.chars, message.subject.length):
        republish(slot, message, seq, before, time_ns)


cdef void publish_row(Engine* engine, Slot* slot, const framework_batch* batch, const framework_row* row) noexcept nogil:
    """Apply a message that came for a stream in memory."""
    cdef Publish publish
    cdef Text reply
    memset(&publish, 0, sizeof(publish))
    publish.subject.chars = batch.chars + row.at
    publish.subject.length = row.subject_length
    reply.chars = publish.subject.chars + row.subject_length
    reply.length = row.reply_length
    publish.header.chars = reply.chars + row.reply_length
    publish.header.length = row.header_length
    publish.payload.chars = publish.header.chars + row.header_length
    publish.payload.length = row.payload_length
    publish.reply = reply
    if not is_fast(&publish):
        publish.reply.length = 0
    publish.marks = <uint8_t> marks_of(engine, slot, &publish)
    publish_apply(engine, slot, &publish, reply, engine.unix_ns)
