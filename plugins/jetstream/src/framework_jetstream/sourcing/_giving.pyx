"""Messages of sourcing consumers on their way to the stream that wants them, in the order of the stream that they come from.

A message follows on the one before it, by the sequences of both; what is missing, or repeated, is seen here. Whether the stream
stores them is decided when their entry is applied: if one is refused, those behind it are, until another consumer begins there.

Source: nats-server `stream.go`, `processInboundMirrorMsg`, `processInboundSourceMsg`, `genSourceHeader`.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from framework.sublist._bytes cimport hash_bytes, write_decimal
from framework.sublist._transform cimport Transform, transform_apply, transform_room
from framework_jetstream.engine._accounts cimport marks_of
from framework_jetstream.engine._direct cimport direct_serve
from framework_jetstream.engine._publishing cimport publish_apply
from framework_jetstream.engine._staging cimport given_stage, staging_chars
from framework_jetstream.engine._state cimport LOSS_GAP, TAG_NUMBER_SHIFT, Slot, made_free
from framework_jetstream.sourcing._inputs cimport DIRECT_PLACE, input_lose, input_owe
from framework_jetstream.sourcing._programs cimport programs_find
from framework_jetstream.sourcing._received cimport AckReply, ack_reply_read, header_copy_own, header_has_foreign, is_control
from framework_jetstream.stream._headers cimport Text, header_value, seq_of_text
from framework_jetstream.stream._machine cimport GIVEN_BY_ORIGIN, GIVEN_BY_SOURCE, Publish

cdef enum:
    CAUGHT_UP = 10
    # Messages that a mirror may be behind when it begins to answer for its origin.
    HEADER_BYTES = 80
    # More than a header block gets beside names and subjects.


# ---- control -------------------------------------------------------------------------------------------------------------


cdef void _stalled(Engine* engine, Input* input, Text asked) noexcept nogil:
    """Answer once more what a consumer says that it waits for, and count how often it says so."""
    cdef uint64_t which = hash_bytes(engine.seed, asked.chars, asked.length)
    if input.stalled_by != which:
        input.stalled_by = which
        input.stalls = 0
    input.stalls += 1
    if input.owed.chars == NULL:
        input_owe(engine, input, asked)


cdef void _control(Engine* engine, Input* input, Text header, Text reply) noexcept nogil:
    """Hear that the consumer is there, and how far it is."""
    cdef Text last, asked
    if reply.length:
        input_owe(engine, input, reply)
        return
    last = header_value(header.chars, header.length, b"Nats-Last-Consumer", 18)
    if last.chars != NULL and seq_of_text(last) and seq_of_text(last) != input.consumer_seq:
        input_lose(engine, input, LOSS_GAP)
        return
    asked = header_value(header.chars, header.length, b"Nats-Consumer-Stalled", 21)
    if asked.chars != NULL:
        _stalled(engine, input, asked)
    else:
        input.stalls = 0


# ---- messages ------------------------------------------------------------------------------------------------------------


cdef bint _transform(Engine* engine, Input* input, Publish* publish) noexcept nogil:
    """Let the subject become what the source's transforms say; False: no memory."""
    cdef const Transform* program = programs_find(input.programs, publish.subject.chars, publish.subject.length)
    cdef uint64_t random = engine.seed ^ publish.seq | 1
    cdef char* made
    if program == NULL:
        return True
    made = staging_chars(input.slot, transform_room(program, publish.subject.length))
    if made == NULL:
        return False
    publish.subject.length = <uint32_t> transform_apply(program, &random, publish.subject.chars, publish.subject.length, made)
    publish.subject.chars = made
    return True


cdef size_t _write(char* to, Text text) noexcept nogil:
    memcpy(to, text.chars, text.length)
    return text.length


cdef size_t _write_source(char* to, Input* input, Publish* publish) noexcept nogil:
    """Write where a message comes from, as a header."""
    cdef size_t used = 20
    memcpy(to, b"Nats-Stream-Source: ", 20)
    used += _write(to + used, input.name)
    to[used] = b" "
    used += 1 + write_decimal(to + used + 1, publish.seq)
    to[used] = b" "
    used += 1 + _write(to + used + 1, input.rest)
    to[used] = b" "
    used += 1 + _write(to + used + 1, publish.subject)
    if input.ident.length:
        to[used] = b" "
        used += 1 + _write(to + used + 1, input.ident)
    memcpy(to + used, b"\r\n", 2)
    return used + 2


cdef bint _write_header(Input* input, Publish* publish) noexcept nogil:
    """Give a message the headers that it has here, with its payload behind them; False: no memory."""
    cdef bint is_source = not input.is_mirror
    cdef size_t used
    cdef char* made
    if not is_source and not header_has_foreign(publish.header, False):
        return True
    made = staging_chars(
        input.slot, publish.header.length + publish.payload.length + publish.subject.length + input.name.length + input.rest.length
        + input.ident.length + HEADER_BYTES,
    )
    if made == NULL:
        return False
    used = header_copy_own(made, publish.header, is_source)
    if used == 0 and is_source:
        memcpy(made, b"NATS/1.0\r\n", 10)
        used = 10
    if is_source:
        used += _write_source(made + used, input, publish)
    if used:
        memcpy(made + used, b"\r\n", 2)
        used += 2
    memcpy(made + used, publish.payload.chars, publish.payload.length)
    publish.header.chars = made
    publish.header.length = <uint32_t> used
    publish.payload.chars = made + used
    return True


cdef void _give(Engine* engine, Input* input, Publish* publish) noexcept nogil:
    """Let the stream have a message."""
    cdef Slot* slot = input.slot
    cdef Text nobody
    memset(&nobody, 0, sizeof(nobody))
    if not _write_header(input, publish) or not _transform(engine, input, publish):
        input_lose(engine, input, LOSS_GAP)
    elif slot.group != NULL:
        if not given_stage(engine, slot, publish):
            input_lose(engine, input, LOSS_GAP)
    else:
        publish.marks = <uint8_t> marks_of(engine, slot, publish)
        publish_apply(engine, slot, publish, nobody, engine.unix_ns)
        made_free(&slot.staging)


cdef bint _follows(Engine* engine, Input* input, const AckReply* ack) noexcept nogil:
    """Whether a message is the next one; those that came before are passed over, a gap loses the consumer."""
    if ack.deliveries > 1:
        return False
    if ack.stream_seq <= input.stream_seq:
        if ack.consumer_seq == input.consumer_seq + 1:
            input.consumer_seq += 1
        return False
    if ack.consumer_seq == input.consumer_seq + 1:
        return True
    if ack.consumer_seq > input.consumer_seq:
        input_lose(engine, input, LOSS_GAP)
    return False


cdef void _message(Engine* engine, Input* input, Publish* publish, const AckReply* ack) noexcept nogil:
    """Take a message that is the next one."""
    publish.giver = GIVEN_BY_ORIGIN if input.is_mirror else GIVEN_BY_SOURCE
    publish.is_first = input.is_first
    publish.input = input.number
    publish.seq = ack.stream_seq
    publish.previous_seq = input.stream_seq
    publish.time_ns = ack.time_ns
    input.is_first = 0
    input.stream_seq = ack.stream_seq
    input.consumer_seq = ack.consumer_seq
    input.pending = ack.pending - 1 if ack.pending else 0
    input.stalls = 0
    if input.wants_direct and not input.has_direct and ack.pending < CAUGHT_UP:
        input.has_direct = 1
        direct_serve(engine, input.slot, input.name, DIRECT_PLACE)
    _give(engine, input, publish)


cdef Text _part(const char** at, uint32_t length) noexcept nogil:
    cdef Text text
    text.chars = at[0]
    text.length = length
    at[0] += length
    return text


cdef void source_row(Engine* engine, Input* input, const framework_batch* batch, const framework_row* row) noexcept nogil:
    """Take what a consumer elsewhere says; `input` NULL: nobody wants it any more."""
    cdef const char* at = batch.chars + row.at
    cdef Publish publish
    cdef AckReply ack
    cdef Text reply
    if input == NULL or not input.is_followed or <uint32_t> (row.tag & ((1 << TAG_NUMBER_SHIFT) - 1)) != (input.run & 0xffffff):
        return
    memset(&publish, 0, sizeof(publish))
    publish.subject = _part(&at, row.subject_length)
    reply = _part(&at, row.reply_length)
    publish.header = _part(&at, row.header_length)
    publish.payload = _part(&at, row.payload_length)
    input.heard_ns = engine.now_ns
    if is_control(publish.header, publish.payload):
        _control(engine, input, publish.header, reply)
    elif ack_reply_read(&ack, reply) and ack.consumer.length == input.consumer.length and memcmp(
        ack.consumer.chars, input.consumer.chars, ack.consumer.length
    ) == 0 and _follows(engine, input, &ack):
        _message(engine, input, &publish, &ack)
