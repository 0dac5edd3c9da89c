"""Halves of latency samples: how long a client here took to answer a request that another server times.

That server gave the request a reply subject that ends in its node and `.T`. The first answer of a client here to it is reported, for that
server to be told. At most HALVES_MAX requests are kept, for HALF_KEPT_NS; the oldest go.
Source: nats-server `client.go`, `trackRemoteReply`, `processInboundClientMsg`; `accounts.go`, `isTrackedReply`.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy

from framework.dataplane._delivery cimport record_chars, record_new
from framework.dataplane._latency cimport sample_info
from framework.dataplane._state cimport NODE_BYTES, RECORD_HALF, Half, Halves, Link, Message, Record, State
from framework.sublist._bytes cimport COPY_SLACK, hash_bytes
from framework.sublist._table cimport table_clear, table_find, table_make, table_remove

cdef enum:
    HALVES_MAX = 16384
    TRACKED_BYTES_MIN = 18
    # `_R_.`, a digit, a dot, a digit, a dot, the node, `.T`.
    TRACKED_BYTES_MAX = 128
    # Of other servers: theirs have 28 bytes, ours 33.

cdef int64_t HALF_KEPT_NS = 120_000_000_000


cdef bint is_tracked_reply(const char* reply, size_t length) noexcept nogil:
    """Whether a reply subject says which server times the answer."""
    return (
        TRACKED_BYTES_MIN <= length <= TRACKED_BYTES_MAX and memcmp(reply, b"_R_.", 4) == 0
        and memcmp(reply + length - 2, b".T", 2) == 0 and reply[length - 3 - NODE_BYTES] == c"."
    )


cdef void _forget(Halves* halves, Half* half) noexcept nogil:
    if half.older != NULL:
        half.older.newer = half.newer
    else:
        halves.oldest = half.newer
    if half.newer != NULL:
        half.newer.older = half.older
    else:
        halves.newest = half.older
    table_remove(&halves.table, &half.key)
    free(half)


cdef void half_begin(State* state, Message* message) noexcept nogil:
    """Note a request of a route with a tracked reply, which somebody here was given."""
    cdef Halves* halves = &state.halves
    cdef uint64_t hashed = hash_bytes(state.seed, message.reply, message.reply_length)
    cdef Half* half
    while halves.oldest != NULL and (
        halves.table.count >= HALVES_MAX or state.now_ns - halves.oldest.started_ns >= HALF_KEPT_NS
    ):
        _forget(halves, halves.oldest)
    if table_find(&halves.table, hashed, message.reply, message.reply_length) != NULL:
        return
    half = <Half*> table_make(&halves.table, sizeof(Half), COPY_SLACK, message.reply, message.reply_length, hashed)
    if half == NULL:
        return
    half.account = message.account.index
    half.started_ns = state.now_ns
    half.older = halves.newest
    if halves.newest != NULL:
        halves.newest.newer = half
    else:
        halves.oldest = half
    halves.newest = half


cdef void _report(State* state, Half* half, Link* link) noexcept nogil:
    cdef HalfRecord head
    cdef char* responder
    cdef Record* record
    head.started_ns = half.started_ns
    head.ended_ns = state.now_ns
    head.responder_rtt_ns = link.rtt_ns
    head.reply_length = half.key.length
    head.responder_length = <uint32_t> sample_info(state, link, True, &responder)
    record = record_new(state, RECORD_HALF, NULL, sizeof(head) + head.reply_length + head.responder_length)
    if record != NULL:
        record.number = half.account
        memcpy(record_chars(record), &head, sizeof(head))
        memcpy(record_chars(record) + sizeof(head), half.key.chars, head.reply_length)
        if head.responder_length:
            memcpy(record_chars(record) + sizeof(head) + head.reply_length, responder, head.responder_length)
    free(responder)


cdef void half_end(State* state, Message* message) noexcept nogil:
    """Report what a client publishes, if it is the first answer to a request that another server times."""
    cdef Half* half
    cdef Link* link = message.source
    if not is_tracked_reply(message.subject, message.subject_length):
        return
    half = <Half*> table_find(
        &state.halves.table, hash_bytes(state.seed, message.subject, message.subject_length), message.subject, message.subject_length
    )
    if half == NULL or half.account != message.account.index:
        return
    _report(state, half, link)
    if link.rtt_ns == 0 and link.pings_out == 0:
        # For its next answer.
        link.ping_due_ns = min(link.ping_due_ns, state.now_ns)
    _forget(&state.halves, half)


cdef void halves_free(State* state) noexcept nogil:
    while state.halves.oldest != NULL:
        _forget(&state.halves, state.halves.oldest)
    table_clear(&state.halves.table)
