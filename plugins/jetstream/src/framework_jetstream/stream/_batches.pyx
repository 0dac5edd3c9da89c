"""Batches of messages that are stored together or not at all: what has come of each that is not committed yet.

Source: ADR-50; nats-server `jetstream_batching.go`.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy

cdef int64_t NEVER = <int64_t> 0x7fffffffffffffff


cdef Batch* batch_find(const Batches* batches, Text id) noexcept nogil:
    """Return a batch by its id; NULL: there is none."""
    cdef Batch* batch = batches.first
    while batch != NULL and (batch.id_length != id.length or memcmp(batch.id, id.chars, id.length) != 0):
        batch = batch.next
    return batch


cdef Batch* batch_add(Batches* batches, Text id) noexcept nogil:
    """Begin a batch, whose id has at most BATCH_ID_MAX bytes; NULL: no memory."""
    cdef Batch* made = <Batch*> calloc(1, sizeof(Batch))
    if made == NULL:
        return NULL
    made.id_length = id.length
    memcpy(made.id, id.chars, id.length)
    made.next = batches.first
    batches.first = made
    batches.count += 1
    return made


cdef void batch_drop(Batches* batches, Batch* batch) noexcept nogil:
    """Forget a batch with its messages."""
    cdef Batch** at = &batches.first
    cdef Staged* gone
    while at[0] != batch:
        at = &at[0].next
    at[0] = batch.next
    batches.count -= 1
    while batch.first != NULL:
        gone = batch.first
        batch.first = gone.next
        batches.bytes -= <size_t> gone.subject_length + gone.header_length + gone.payload_length
        free(gone)
    free(batch)


cdef bint batch_stage(Batches* batches, Batch* batch, Text subject, Text header, Text payload) noexcept nogil:
    """Let a message wait in a batch; False: no memory."""
    cdef size_t size = <size_t> subject.length + header.length + payload.length
    cdef Staged* made = <Staged*> malloc(sizeof(Staged) + size)
    cdef char* to = <char*> (made + 1)
    if made == NULL:
        return False
    batches.bytes += size
    made.next = NULL
    made.subject_length = subject.length
    made.header_length = header.length
    made.payload_length = payload.length
    memcpy(to, subject.chars, subject.length)
    memcpy(to + subject.length, header.chars, header.length)
    memcpy(to + subject.length + header.length, payload.chars, payload.length)
    if batch.last != NULL:
        batch.last.next = made
    else:
        batch.first = made
    batch.last = made
    return True


cdef Text staged_subject(const Staged* staged) noexcept nogil:
    cdef Text text
    text.chars = <const char*> (staged + 1)
    text.length = staged.subject_length
    return text


cdef Text staged_header(const Staged* staged) noexcept nogil:
    cdef Text text
    text.chars = <const char*> (staged + 1) + staged.subject_length
    text.length = staged.header_length
    return text


cdef Text staged_payload(const Staged* staged) noexcept nogil:
    cdef Text text
    text.chars = <const char*> (staged + 1) + staged.subject_length + staged.header_length
    text.length = staged.payload_length
    return text


cdef Batch* batch_before(const Batches* batches, int64_t time_ns) noexcept nogil:
    """Return a batch of which nothing has come since a time; NULL: there is none."""
    cdef Batch* batch = batches.first
    while batch != NULL and batch.touched_ns > time_ns:
        batch = batch.next
    return batch


cdef int64_t batches_touched_ns(const Batches* batches) noexcept nogil:
    """Return since when nothing has come of the batch that has waited longest; far off if there is none."""
    cdef const Batch* batch = batches.first
    cdef int64_t found = NEVER
    while batch != NULL:
        found = min(found, batch.touched_ns)
        batch = batch.next
    return found


cdef void batches_free(Batches* batches) noexcept nogil:
    while batches.first != NULL:
        batch_drop(batches, batches.first)
