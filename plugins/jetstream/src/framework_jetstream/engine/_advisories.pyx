"""Advisories on single messages, which never pass the interpreter: naks, terminations, messages given up, samples of acknowledgements.

They are published as any message; where nobody listens that costs a look into the cache of matches.

Source: nats-server `consumer.go`, `processNak`, `processTermLocked`, `notifyDeliveryExceeded`, `sampleAck`; `jetstream_events.go`.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, strlen

from framework.sublist._bytes cimport hash_bytes, write_decimal
from framework_jetstream.consumer._consumer_machine cimport Pending, machine_find, machine_waited
from framework_jetstream.consumer._terms cimport ACK_EXPLICIT
from framework_jetstream.engine._json cimport write_json_text
from framework_jetstream.engine._outbox cimport outbox_add, outbox_chars
from framework_jetstream.engine._port cimport framework_message
from framework_jetstream.engine._times cimport write_time
from framework_jetstream.stream._batches cimport ABANDONED_INCOMPLETE, ABANDONED_LARGE, ABANDONED_TIMEOUT

cdef enum:
    FIXED_BYTES = 512
    # Of an advisory, without names and reason.
    ESCAPED_MAX = 6
    # Bytes that a character may become in JSON.
    ID_DIGITS = 10
    SUBJECT_BYTES = 80


cdef struct Advisory:
    char* chars
    uint32_t length
    framework_message* message


cdef void _text(Advisory* advisory, const char* text) noexcept nogil:
    cdef uint32_t length = <uint32_t> strlen(text)
    memcpy(advisory.chars + advisory.length, text, length)
    advisory.length += length


cdef void _name(Advisory* advisory, const char* before, Text name) noexcept nogil:
    _text(advisory, before)
    advisory.length += write_json_text(advisory.chars + advisory.length, name)


cdef void _number(Advisory* advisory, const char* before, uint64_t value) noexcept nogil:
    _text(advisory, before)
    advisory.length += <uint32_t> write_decimal(advisory.chars + advisory.length, value)


cdef void _write_id(Engine* engine, char* to) noexcept nogil:
    """Write 22 characters that no other server draws: those it was given, and a number that grows."""
    cdef const char* digits = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    cdef uint64_t rest
    cdef int at
    engine.advisories += 1
    rest = engine.advisories
    memcpy(to, engine.id_prefix, sizeof(engine.id_prefix))
    for at in range(ID_DIGITS - 1, -1, -1):
        to[<int> sizeof(engine.id_prefix) + at] = digits[rest % 62]
        rest //= 62


cdef void _head(Engine* engine, Advisory* advisory, const char* kind, Text stream) noexcept nogil:
    """Write what all have in common, up to the name of the stream."""
    _text(advisory, b"{\"type\":\"io.nats.jetstream.")
    _text(advisory, kind)
    _text(advisory, b"\",\"id\":\"")
    _write_id(engine, advisory.chars + advisory.length)
    advisory.length += sizeof(engine.id_prefix) + ID_DIGITS
    _text(advisory, b"\",\"timestamp\":\"")
    advisory.length += write_time(advisory.chars + advisory.length, engine.unix_ns)
    _name(advisory, b"\",\"stream\":\"", stream)


cdef bint _begin(
    Engine* engine, ConsumerSlot* consumer, Advisory* advisory, const char* subject, const char* kind, uint32_t more
) noexcept nogil:
    """Write what those on a consumer have in common; False: there is no memory."""
    cdef Text stream = consumer.slot.name
    cdef char* to = outbox_chars(&engine.outbox, SUBJECT_BYTES + stream.length + consumer.name.length)
    cdef uint32_t length = <uint32_t> strlen(subject)
    advisory.chars = outbox_chars(
        &engine.outbox, FIXED_BYTES + ESCAPED_MAX * (stream.length + consumer.name.length + engine.domain.length + more)
    )
    if to == NULL or advisory.chars == NULL:
        return False
    memcpy(to, subject, length)
    memcpy(to + length, stream.chars, stream.length)
    to[length + stream.length] = c"."
    memcpy(to + length + stream.length + 1, consumer.name.chars, consumer.name.length)
    advisory.message = outbox_add(&engine.outbox, consumer.slot.account, to, length + stream.length + 1 + consumer.name.length)
    if advisory.message == NULL:
        return False
    advisory.length = 0
    _head(engine, advisory, kind, stream)
    _name(advisory, b"\",\"consumer\":\"", consumer.name)
    _text(advisory, b"\"")
    return True


cdef void _place(Advisory* advisory, const Acked* acked) noexcept nogil:
    _number(advisory, b",\"consumer_seq\":", acked.consumer_seq)
    _number(advisory, b",\"stream_seq\":", acked.seq)


cdef void _end(Engine* engine, Advisory* advisory) noexcept nogil:
    if engine.domain.length:
        _name(advisory, b",\"domain\":\"", engine.domain)
        _text(advisory, b"\"")
    _text(advisory, b"}")
    advisory.message.payload = advisory.chars
    advisory.message.payload_length = advisory.length


cdef const char* _abandoned_words(int reason) noexcept nogil:
    if reason == ABANDONED_TIMEOUT:
        return b"timeout"
    if reason == ABANDONED_LARGE:
        return b"large"
    return b"incomplete" if reason == ABANDONED_INCOMPLETE else b"unsupported"


cdef void advise_abandoned(Engine* engine, Slot* slot, Text batch, int reason) noexcept nogil:
    """Say that a batch is forgotten, and why."""
    cdef Advisory advisory
    cdef const char* subject = b"$JS.EVENT.ADVISORY.STREAM.BATCH_ABANDONED."
    cdef uint32_t length = <uint32_t> strlen(subject)
    cdef char* to = outbox_chars(&engine.outbox, length + slot.name.length)
    advisory.chars = outbox_chars(
        &engine.outbox, FIXED_BYTES + ESCAPED_MAX * (slot.name.length + engine.domain.length + batch.length)
    )
    if to == NULL or advisory.chars == NULL:
        return
    memcpy(to, subject, length)
    memcpy(to + length, slot.name.chars, slot.name.length)
    advisory.message = outbox_add(&engine.outbox, slot.account, to, length + slot.name.length)
    if advisory.message == NULL:
        return
    advisory.length = 0
    _head(engine, &advisory, b"advisory.v1.stream_batch_abandoned", slot.name)
    if engine.domain.length:
        _name(&advisory, b"\",\"domain\":\"", engine.domain)
    _name(&advisory, b"\",\"batch\":\"", batch)
    _text(&advisory, b"\",\"reason\":\"")
    _text(&advisory, _abandoned_words(reason))
    _text(&advisory, b"\"}")
    advisory.message.payload = advisory.chars
    advisory.message.payload_length = advisory.length


cdef void advise_nak(Engine* engine, ConsumerSlot* consumer, const Acked* acked) noexcept nogil:
    """Say that a client could not use a message."""
    cdef Advisory advisory
    if not _begin(engine, consumer, &advisory, b"$JS.EVENT.ADVISORY.CONSUMER.MSG_NAKED.", b"advisory.v1.nak", 0):
        return
    _place(&advisory, acked)
    _number(&advisory, b",\"deliveries\":", acked.deliveries)
    _end(engine, &advisory)


cdef void advise_term(Engine* engine, ConsumerSlot* consumer, const Acked* acked, Text reason) noexcept nogil:
    """Say that a message is not to be delivered again, and why, if the client has said so."""
    cdef Advisory advisory
    if not _begin(
        engine, consumer, &advisory, b"$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.", b"advisory.v1.terminated", reason.length
    ):
        return
    _place(&advisory, acked)
    _number(&advisory, b",\"deliveries\":", acked.deliveries)
    if reason.length:
        _name(&advisory, b",\"reason\":\"", reason)
        _text(&advisory, b"\"")
    _end(engine, &advisory)


cdef void advise_gave_up(Engine* engine, ConsumerSlot* consumer, uint64_t seq, uint64_t deliveries) noexcept nogil:
    """Say that a message was delivered as often as it may be, and never acknowledged."""
    cdef Advisory advisory
    if not _begin(engine, consumer, &advisory, b"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.", b"advisory.v1.max_deliver", 0):
        return
    _number(&advisory, b",\"stream_seq\":", seq)
    _number(&advisory, b",\"deliveries\":", deliveries)
    _end(engine, &advisory)


cdef bint _is_sampled(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Whether this acknowledgement is one of those that are told; of 99 in a hundred and more all are, as with nats-server."""
    cdef int64_t percent = consumer.machine.terms.sample_percent
    if percent <= 0:
        return False
    engine.drawn += 1
    return <int64_t> (hash_bytes(engine.seed, <char*> &engine.drawn, 8) % 100) <= percent


cdef void advise_ack(Engine* engine, ConsumerSlot* consumer, const Acked* acked) noexcept nogil:
    """Say how long a client took to acknowledge a message that still waits, if that is sampled."""
    cdef Advisory advisory
    cdef Pending* pending
    if consumer.machine.terms.ack_policy != ACK_EXPLICIT or not _is_sampled(engine, consumer):
        return
    pending = machine_find(&consumer.machine, acked.seq)
    if pending == NULL:
        return
    if not _begin(engine, consumer, &advisory, b"$JS.EVENT.METRIC.CONSUMER.ACK.", b"metric.v1.consumer_ack", 0):
        return
    _place(&advisory, acked)
    _number(&advisory, b",\"ack_time\":", <uint64_t> max(machine_waited(&consumer.machine, pending, engine.now_ns), <int64_t> 0))
    _number(&advisory, b",\"deliveries\":", acked.deliveries)
    _end(engine, &advisory)
