"""The texts of PubAcks.

Source: nats-server `stream.go`, `PubAck`, `JSPubAckResponse`.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from framework.sublist._bytes cimport write_decimal
from framework_jetstream.engine._json cimport write_json_text
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._machine cimport BATCH_TOO_LARGE, WRONG_LAST_SEQ

cdef enum:
    DECIMAL_BYTES = 20
    DUPLICATE_BYTES = 18
    BATCH_BYTES = 22
    # Of what a PubAck says of a batch, beside its id and two numbers.
    ESCAPED_MAX = 6
    # Bytes that a character may become in JSON.


cdef uint32_t _write(char* to, Text text) noexcept nogil:
    memcpy(to, text.chars, text.length)
    return text.length


cdef uint32_t write_stored(char* to, Slot* slot, Outcome* outcome) noexcept nogil:
    """Write the PubAck of what was stored; return its length."""
    cdef uint32_t used = _write(to, slot.ack)
    used += <uint32_t> write_decimal(to + used, outcome.seq)
    if outcome.is_duplicate:
        memcpy(to + used, b",\"duplicate\": true", DUPLICATE_BYTES)
        used += DUPLICATE_BYTES
    if outcome.batch_id.chars != NULL:
        memcpy(to + used, b",\"batch\":\"", 10)
        used += 10 + write_json_text(to + used + 10, outcome.batch_id)
        memcpy(to + used, b"\",\"count\":", 10)
        used += 10 + <uint32_t> write_decimal(to + used + 10, outcome.batch_count)
    elif outcome.shown.chars != NULL:
        memcpy(to + used, b",\"val\":\"", 8)
        used += 8 + _write(to + used + 8, outcome.shown)
        to[used] = b"\""
        used += 1
    to[used] = b"}"
    return used + 1


cdef uint32_t write_refused(char* to, Engine* engine, Outcome* outcome) noexcept nogil:
    """Write the error of what was not, up to what stands behind it in a PubAck; return its length."""
    cdef uint32_t used = _write(to, engine.refusals[outcome.refusal])
    if outcome.refusal == BATCH_TOO_LARGE:
        used += <uint32_t> write_decimal(to + used, <uint64_t> engine.batch_terms.messages_max)
    elif outcome.refusal == WRONG_LAST_SEQ:
        used += <uint32_t> write_decimal(to + used, outcome.seq)
    elif outcome.shown.chars != NULL:
        used += write_json_text(to + used, outcome.shown)
    return used + _write(to + used, engine.refusal_ends[outcome.refusal])


cdef size_t puback_bytes(Engine* engine, Slot* slot, const Outcome* outcome) noexcept nogil:
    """Return how long the PubAck of an outcome may be."""
    cdef size_t size = slot.ack.length + slot.ack_refused.length + 2 * DECIMAL_BYTES + DUPLICATE_BYTES + BATCH_BYTES
    size += ESCAPED_MAX * (<size_t> outcome.shown.length + outcome.batch_id.length)
    return size + engine.refusals[outcome.refusal].length + engine.refusal_ends[outcome.refusal].length
