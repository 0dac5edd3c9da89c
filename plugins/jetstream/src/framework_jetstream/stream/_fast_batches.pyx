"""Batches whose messages are stored as they come, by clients that are told now and then how far it is: what is known of each.

Source: ADR-50, fast ingest; nats-server `jetstream_batching.go`; `stream.go`, `getFastBatch`.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

from framework_jetstream.stream._headers cimport seq_of_text, text_is

cdef enum:
    SUFFIX_BYTES = 4
    # `.$FI`
    FLOW_MAX = 500
    FLOW_BY_ITSELF = 10

    OPERATION_START = 0
    OPERATION_APPEND = 1
    OPERATION_COMMIT = 2
    OPERATION_COMMIT_EOB = 3
    OPERATION_PING = 4

cdef int64_t NEVER = <int64_t> 0x7fffffffffffffff
cdef uint64_t NO_NUMBER = <uint64_t> -1


# ---- reply subjects --------------------------------------------------------------------------------------------------------


cdef bint _take_last(Text* rest, Text* token) noexcept nogil:
    """Take the last token of a subject, which has another one before it; False: it has not."""
    cdef uint32_t at = rest.length
    while at and rest.chars[at - 1] != b".":
        at -= 1
    if at == 0:
        return False
    token.chars = rest.chars + at
    token.length = rest.length - at
    rest.length = at - 1
    return True


cdef bint _read_operation(Text* rest, FastPlace* place) noexcept nogil:
    """Read sequence and operation; False: they make no sense."""
    cdef Text token
    cdef uint64_t operation
    if not _take_last(rest, &token):
        return False
    operation = seq_of_text(token)
    if operation > OPERATION_PING:
        return False
    place.is_ping = operation == OPERATION_PING
    place.is_eob = operation == OPERATION_COMMIT_EOB
    place.commits = place.is_eob or operation == OPERATION_COMMIT
    if not _take_last(rest, &token):
        return False
    place.seq = seq_of_text(token)
    if place.seq == 0 or place.seq == NO_NUMBER or (place.seq == 1 and place.is_eob):
        return False
    if operation == OPERATION_START:
        return place.seq == 1
    return operation != OPERATION_APPEND or place.seq > 1


cdef int fast_read(Text reply, FastPlace* place) noexcept nogil:
    """Read what a reply subject says; a `Fastness`."""
    cdef Text token
    cdef Text rest = reply
    cdef uint64_t flow
    if reply.length <= SUFFIX_BYTES or memcmp(reply.chars + reply.length - SUFFIX_BYTES, b".$FI", SUFFIX_BYTES) != 0:
        return FAST_NOT
    rest.length -= SUFFIX_BYTES
    if not _read_operation(&rest, place) or not _take_last(&rest, &token):
        return FAST_BAD
    place.gap_is_good = text_is(token, b"ok", 2)
    if not place.gap_is_good and not text_is(token, b"fail", 4):
        return FAST_BAD
    if not _take_last(&rest, &token):
        return FAST_BAD
    flow = seq_of_text(token)
    if flow == 0 or flow == NO_NUMBER:
        flow = FLOW_BY_ITSELF
    place.flow = <uint16_t> min(flow, <uint64_t> 65535)
    return FAST_GOOD if _take_last(&rest, &place.id) else FAST_BAD


# ---- batches ---------------------------------------------------------------------------------------------------------------


cdef Fast* fast_find(const FastBatches* batches, Text id) noexcept nogil:
    """Return a batch by its id; NULL: there is none."""
    cdef Fast* batch = batches.first
    while batch != NULL and (batch.id_length != id.length or memcmp(batch.id, id.chars, id.length) != 0):
        batch = batch.next
    return batch


cdef Fast* fast_add(FastBatches* batches, const FastPlace* place) noexcept nogil:
    """Begin a batch, whose id has at most BATCH_ID_MAX bytes; NULL: no memory. One beside others begins slowly."""
    cdef Fast* made = <Fast*> calloc(1, sizeof(Fast))
    if made == NULL:
        return NULL
    made.id_length = place.id.length
    memcpy(made.id, place.id.chars, place.id.length)
    made.gap_is_good = place.gap_is_good
    made.every_max = place.flow
    made.every = 1 if batches.count else min(<uint16_t> FLOW_MAX, place.flow)
    made.next = batches.first
    batches.first = made
    batches.count += 1
    return made


cdef void fast_drop(FastBatches* batches, Fast* batch) noexcept nogil:
    cdef Fast** at = &batches.first
    while at[0] != batch:
        at = &at[0].next
    at[0] = batch.next
    batches.count -= 1
    free(batch)


cdef bint fast_flows(const FastBatches* batches, Fast* batch) noexcept nogil:
    """Whether its client is to be told how far a batch is; then how often it is told changes, too."""
    cdef uint16_t most
    if batch.stored_seq < batch.flow_seq + batch.every:
        return False
    batch.flow_seq += (batch.stored_seq - batch.flow_seq) // batch.every * batch.every
    most = min(max(<uint16_t> (FLOW_MAX // batches.count), <uint16_t> 1), batch.every_max)
    if batch.every < most:
        batch.every = <uint16_t> min(<uint32_t> batch.every * 2, <uint32_t> most)
    elif batch.every > most:
        batch.every = max(<uint16_t> (batch.every // 2), most)
    return True


cdef void fast_drop_before(FastBatches* batches, int64_t time_ns) noexcept nogil:
    """Forget batches of which nothing has come since a time."""
    cdef Fast* batch = batches.first
    cdef Fast* following
    while batch != NULL:
        following = batch.next
        if batch.touched_ns <= time_ns:
            fast_drop(batches, batch)
        batch = following


cdef int64_t fast_touched_ns(const FastBatches* batches) noexcept nogil:
    """Return since when nothing has come of the batch that has waited longest; far off if there is none."""
    cdef const Fast* batch = batches.first
    cdef int64_t found = NEVER
    while batch != NULL:
        found = min(found, batch.touched_ns)
        batch = batch.next
    return found


cdef void fast_free(FastBatches* batches) noexcept nogil:
    while batches.first != NULL:
        fast_drop(batches, batches.first)
