"""Messages that a stream has stored, published again for those who need no consumer: with where and when each was stored.

Source: ADR-28; nats-server `stream.go`, `processJetStreamMsgWithBatch`.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from framework_jetstream.engine._header_lines cimport write_line, write_number_line
from framework_jetstream.engine._outbox cimport outbox_add, outbox_chars
from framework_jetstream.engine._port cimport framework_message
from framework_jetstream.engine._times cimport TIME_BYTES, write_time
from framework_jetstream.stream._subject_terms cimport SubjectTerms, subject_changed

cdef enum:
    EXTRA_BYTES = 300
    # More than headers have beside names and times.


cdef uint32_t _write_headers(
    char* to, Slot* slot, const Publish* message, uint64_t seq, uint64_t before, int64_t time_ns, bint headers_only
) noexcept nogil:
    """Write the header block; return its length."""
    cdef char time[TIME_BYTES]
    cdef uint32_t used = 10
    if message.header.length >= 2:
        used = message.header.length - 2
        memcpy(to, message.header.chars, used)
    else:
        memcpy(to, b"NATS/1.0\r\n", 10)
    used += write_line(to + used, b"Nats-Stream: ", 13, slot.name.chars, slot.name.length)
    used += write_line(to + used, b"Nats-Subject: ", 14, message.subject.chars, message.subject.length)
    used += write_number_line(to + used, b"Nats-Sequence: ", 15, seq)
    used += write_line(to + used, b"Nats-Time-Stamp: ", 17, time, write_time(time, time_ns))
    used += write_number_line(to + used, b"Nats-Last-Sequence: ", 20, before)
    if headers_only:
        used += write_number_line(to + used, b"Nats-Msg-Size: ", 15, message.payload.length)
    memcpy(to + used, b"\r\n", 2)
    return used + 2


cdef void republish(Slot* slot, const Publish* message, uint64_t seq, uint64_t before, int64_t time_ns) noexcept nogil:
    """Publish a message again, where its stream says.

    Args:
        message: As it was stored; is copied.
        before: The sequence of the last message with its subject; 0: there was none.
    """
    cdef const SubjectTerms* terms = slot.stream.limits.subject_terms
    cdef framework_message* said
    cdef char* chars
    cdef size_t length = subject_changed(
        terms.republish, seq ^ <uint64_t> time_ns, message.subject.chars, message.subject.length, &slot.engine.subject_room
    )
    cdef size_t size = EXTRA_BYTES + message.header.length + slot.name.length + message.subject.length
    if length == 0:
        return
    chars = outbox_chars(&slot.engine.outbox, size + (0 if terms.headers_only else message.payload.length))
    said = outbox_add(&slot.engine.outbox, slot.account, slot.engine.subject_room.chars, <uint32_t> length) if chars != NULL else NULL
    if said == NULL:
        return
    said.header = chars
    said.header_length = _write_headers(chars, slot, message, seq, before, time_ns, terms.headers_only)
    if not terms.headers_only:
        memcpy(chars + said.header_length, message.payload.chars, message.payload.length)
        said.payload = chars + said.header_length
        said.payload_length = message.payload.length
