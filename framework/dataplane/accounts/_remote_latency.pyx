"""Remote latencies: how long a client here took to answer a request that another server times.

That server gave the request a reply subject that ends in its node and `.T`. The first answer of a client here to it is reported, for that
server to be told. At most REMOTE_LATENCIES_MAX requests are kept, for REMOTE_LATENCY_KEPT_NS; the oldest go.
Source: nats-server `client.go`, `trackRemoteReply`, `processInboundClientMsg`; `accounts.go`, `isTrackedReply`.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy

from framework.dataplane.delivery._delivery cimport record_chars, record_new
from framework.dataplane.accounts._latency cimport sample_info
from framework.dataplane._state cimport NODE_BYTES, RECORD_REMOTE_LATENCY, Link, Message, Record, RemoteLatencies, RemoteLatency, State
from framework.sublist._bytes cimport COPY_SLACK, hash_bytes
from framework.sublist._table cimport table_clear, table_find, table_make, table_remove

cdef enum:
    REMOTE_LATENCIES_MAX = 16384
    TRACKED_BYTES_MIN = 18
    # `_R_.`, a digit, a dot, a digit, a dot, the node, `.T`.
    TRACKED_BYTES_MAX = 128
    # Of other servers: theirs have 28 bytes, ours 33.

cdef int64_t REMOTE_LATENCY_KEPT_NS = 120_000_000_000


cdef bint is_tracked_reply(const char* reply, size_t length) noexcept nogil:
    """Whether a reply subject says which server times the answer."""
    return (
        TRACKED_BYTES_MIN <= length <= TRACKED_BYTES_MAX and memcmp(reply, b"_R_.", 4) == 0
        and memcmp(reply + length - 2, b".T", 2) == 0 and reply[length - 3 - NODE_BYTES] == c"."
    )


cdef void _forget(RemoteLatencies* kept, RemoteLatency* remote) noexcept nogil:
    if remote.older != NULL:
        remote.older.newer = remote.newer
    else:
        kept.oldest = remote.newer
    if remote.newer != NULL:
        remote.newer.older = remote.older
    else:
        kept.newest = remote.older
    table_remove(&kept.table, &remote.key)
    free(remote)


cdef void remote_latency_begin(State* state, Message* message) noexcept nogil:
    """Note a request of a route with a tracked reply, which somebody here was given."""
    cdef RemoteLatencies* kept = &state.remote_latencies
    cdef uint64_t hashed = hash_bytes(state.seed, message.reply, message.reply_length)
    cdef RemoteLatency* remote
    while kept.oldest != NULL and (
        kept.table.count >= REMOTE_LATENCIES_MAX or state.now_ns - kept.oldest.started_ns >= REMOTE_LATENCY_KEPT_NS
    ):
        _forget(kept, kept.oldest)
    if table_find(&kept.table, hashed, message.reply, message.reply_length) != NULL:
        return
    remote = <RemoteLatency*> table_make(&kept.table, sizeof(RemoteLatency), COPY_SLACK, message.reply, message.reply_length, hashed)
    if remote == NULL:
        return
    remote.account = message.account.index
    remote.started_ns = state.now_ns
    remote.older = kept.newest
    if kept.newest != NULL:
        kept.newest.newer = remote
    else:
        kept.oldest = remote
    kept.newest = remote


cdef void _report(State* state, RemoteLatency* remote, Link* link) noexcept nogil:
    cdef RemoteLatencyRecord head
    cdef char* responder
    cdef Record* record
    head.started_ns = remote.started_ns
    head.ended_ns = state.now_ns
    head.responder_rtt_ns = link.rtt_ns
    head.reply_length = remote.key.length
    head.responder_length = <uint32_t> sample_info(state, link, True, &responder)
    record = record_new(state, RECORD_REMOTE_LATENCY, NULL, sizeof(head) + head.reply_length + head.responder_length)
    if record != NULL:
        record.number = remote.account
        memcpy(record_chars(record), &head, sizeof(head))
        memcpy(record_chars(record) + sizeof(head), remote.key.chars, head.reply_length)
        if head.responder_length:
            memcpy(record_chars(record) + sizeof(head) + head.reply_length, responder, head.responder_length)
    free(responder)


cdef void remote_latency_end(State* state, Message* message) noexcept nogil:
    """Report what a client publishes, if it is the first answer to a request that another server times."""
    cdef RemoteLatency* remote
    cdef Link* link = message.source
    cdef uint64_t hashed
    if not is_tracked_reply(message.subject, message.subject_length):
        return
    hashed = hash_bytes(state.seed, message.subject, message.subject_length)
    remote = <RemoteLatency*> table_find(&state.remote_latencies.table, hashed, message.subject, message.subject_length)
    if remote == NULL or remote.account != message.account.index:
        return
    _report(state, remote, link)
    if link.rtt_ns == 0 and link.pings_out == 0:
        # For its next answer.
        link.ping_due_ns = min(link.ping_due_ns, state.now_ns)
    _forget(&state.remote_latencies, remote)


cdef void remote_latencies_free(State* state) noexcept nogil:
    while state.remote_latencies.oldest != NULL:
        _forget(&state.remote_latencies, state.remote_latencies.oldest)
    table_clear(&state.remote_latencies.table)
