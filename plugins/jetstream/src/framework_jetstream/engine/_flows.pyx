"""What clients are told in the midst of batches whose messages are stored as they come.

Source: ADR-50, fast ingest; nats-server `stream.go`, `BatchFlowAck`, `BatchFlowGap`, `BatchFlowErr`.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy, strlen

from framework.sublist._bytes cimport write_decimal
from framework_jetstream.engine._outbox cimport outbox_add, outbox_chars
from framework_jetstream.engine._port cimport framework_message
from framework_jetstream.engine._pubacks cimport puback_bytes, write_refused, write_stored
from framework_jetstream.stream._machine cimport FLOW_ACK, FLOW_DONE, FLOW_GAP, Flow

cdef enum:
    FIXED_BYTES = 100
    # Beside what a PubAck has.


cdef uint32_t _number(char* to, const char* before, uint64_t value) noexcept nogil:
    cdef uint32_t length = <uint32_t> strlen(before)
    memcpy(to, before, length)
    return length + <uint32_t> write_decimal(to + length, value)


cdef uint32_t _write(char* to, Engine* engine, Slot* slot, const Flow* flow, Outcome* outcome) noexcept nogil:
    """Write one of them; return its length."""
    cdef Outcome done = outcome[0]
    cdef uint32_t used, begin
    if flow.kind == FLOW_DONE:
        done.seq = flow.first
        done.batch_count = flow.second
        done.is_duplicate = 0
        done.shown.chars = NULL
        return write_stored(to, slot, &done)
    if flow.kind == FLOW_GAP:
        used = _number(to, b"{\"type\":\"gap\",\"last_seq\":", flow.first)
        used += _number(to + used, b",\"seq\":", flow.second)
    elif flow.kind == FLOW_ACK:
        used = _number(to, b"{\"type\":\"ack\",\"seq\":", flow.first)
        used += _number(to + used, b",\"msgs\":", flow.second)
    else:
        used = _number(to, b"{\"type\":\"err\",\"seq\":", flow.first)
        # The brace that begins a PubAck gives way to a comma.
        begin = used
        used += write_refused(to + used, engine, outcome)
        to[begin] = b","
    to[used] = b"}"
    return used + 1


cdef void flows_say(Engine* engine, Slot* slot, Text reply, Outcome* outcome) noexcept nogil:
    """Tell a client what an outcome has of its batch."""
    cdef framework_message* message
    cdef uint32_t at
    cdef char* chars
    for at in range(outcome.flow_count):
        chars = outbox_chars(&engine.outbox, FIXED_BYTES + puback_bytes(engine, slot, outcome))
        message = outbox_add(&engine.outbox, slot.account, reply.chars, reply.length) if chars != NULL else NULL
        if message == NULL:
            return
        message.payload = chars
        message.payload_length = _write(chars, engine, slot, &outcome.flows[at], outcome)
