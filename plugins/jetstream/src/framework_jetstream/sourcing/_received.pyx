"""What a sourcing consumer delivers: the numbers of its reply subject, control messages, and headers that mean nothing at the target.

    $JS.ACK.<stream>.<consumer>.<deliveries>.<stream sequence>.<consumer sequence>.<time>.<pending>
    $JS.ACK.<domain>.<account>.<stream>.<consumer>. ...

Source: nats-server `consumer.go`, `ackReplyInfo`; `stream.go`, `isControlMsg`, `processInboundSourceMsg`; ADR-15.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy

from framework_jetstream.stream._headers cimport seq_of_text

cdef extern from "string.h" nogil:
    void* memmem(const void* where, size_t where_length, const void* what, size_t length)

cdef enum:
    TOKENS = 9
    TOKENS_WITH_DOMAIN = 11
    # Or more.


cdef int _split(Text subject, Text* tokens, int most) noexcept nogil:
    """Split a subject into tokens; return how many there are, `most` at most."""
    cdef const char* at = subject.chars
    cdef const char* end = subject.chars + subject.length
    cdef const char* stop
    cdef int count = 0
    while at != NULL and count < most:
        stop = <const char*> memchr(at, c".", end - at)
        tokens[count].chars = at
        tokens[count].length = <uint32_t> ((stop if stop != NULL else end) - at)
        count += 1
        at = stop + 1 if stop != NULL else NULL
    return count


cdef bint ack_reply_read(AckReply* read, Text reply) noexcept nogil:
    """Read where a message is to be acknowledged; False: that is no such subject."""
    cdef Text tokens[TOKENS_WITH_DOMAIN]
    cdef int count, first = 3, at
    if reply.length < 8 or memcmp(reply.chars, b"$JS.ACK.", 8):
        return False
    count = _split(reply, tokens, TOKENS_WITH_DOMAIN)
    if count == TOKENS_WITH_DOMAIN:
        first = 5
    elif count != TOKENS:
        return False
    read.consumer = tokens[first]
    read.deliveries = seq_of_text(tokens[first + 1])
    read.stream_seq = seq_of_text(tokens[first + 2])
    read.consumer_seq = seq_of_text(tokens[first + 3])
    # Nanoseconds of today have 19 digits, one more than sequences are read with.
    read.time_ns = 0
    for at in range(tokens[first + 4].length):
        if not 48 <= tokens[first + 4].chars[at] <= 57 or at > 18:
            return False
        read.time_ns = read.time_ns * 10 + (tokens[first + 4].chars[at] - 48)
    read.pending = seq_of_text(tokens[first + 5])
    return read.stream_seq != <uint64_t> -1 and read.consumer_seq != <uint64_t> -1 and read.pending != <uint64_t> -1


cdef bint is_control(Text header, Text payload) noexcept nogil:
    """Whether a message is a heartbeat, or a request of flow control."""
    return payload.length == 0 and header.length >= 13 and memcmp(header.chars, b"NATS/1.0 100 ", 13) == 0


# ---- headers -------------------------------------------------------------------------------------------------------------


cdef bint _is_foreign(const char* line, size_t length, bint is_source) noexcept nogil:
    """Whether a line speaks of the stream that a message comes from: expectations, batches, and a source of its own."""
    if length < 11 or memcmp(line, b"Nats-", 5):
        return False
    if length > 14 and memcmp(line + 5, b"Expected-", 9) == 0:
        return True
    if memcmp(line + 5, b"Batch-", 6) == 0:
        return True
    if length > 18 and memcmp(line + 5, b"Request-Info:", 13) == 0:
        return True
    return is_source and length > 19 and memcmp(line + 5, b"Stream-Source:", 14) == 0


cdef bint header_has_foreign(Text header, bint is_source) noexcept nogil:
    """Whether a header block has lines that `header_copy_own` leaves out, or may have."""
    if header.length == 0 or memmem(header.chars, header.length, b"Nats-", 5) == NULL:
        return False
    return (
        memmem(header.chars, header.length, b"Nats-Expected-", 14) != NULL
        or memmem(header.chars, header.length, b"Nats-Batch-", 11) != NULL
        or memmem(header.chars, header.length, b"Nats-Request-Info", 17) != NULL
        or (is_source and memmem(header.chars, header.length, b"Nats-Stream-Source", 18) != NULL)
    )


cdef size_t header_copy_own(char* to, Text header, bint is_source) noexcept nogil:
    """Copy a header block without lines that mean nothing at the target, and without its end; return how long it is, 0: nothing is left.

    Args:
        to: Has as many bytes as the block.
        is_source: A source's name goes as well: the target writes one of its own.
    """
    cdef const char* at = header.chars
    cdef const char* end = header.chars + header.length
    cdef const char* stop
    cdef size_t used = 0, first = 0
    while at < end:
        stop = <const char*> memchr(at, c"\n", end - at)
        stop = stop + 1 if stop != NULL else end
        if stop - at <= 2 and used:
            break
        if not _is_foreign(at, stop - at, is_source):
            memcpy(to + used, at, stop - at)
            used += stop - at
        if first == 0:
            first = used
        at = stop
    return used if used > first else 0
