"""The C face of batches whose messages are stored as they come; see `_fast_batches.pyx`."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from framework_jetstream.stream._batches cimport BATCH_ID_MAX
from framework_jetstream.stream._headers cimport Text


cdef enum Fastness:
    # What a reply subject says.
    FAST_NOT = 0
    FAST_BAD
    FAST_GOOD


cdef struct FastPlace:
    # What a reply subject says of a message, `<…>.<id>.<flow>.<gap mode>.<sequence>.<operation>.$FI`.
    Text id
    uint64_t seq
    uint16_t flow
    uint8_t gap_is_good
    uint8_t is_ping
    uint8_t commits
    uint8_t is_eob


cdef struct Fast:
    # A batch.
    Fast* next
    uint64_t last_seq
    # Of its messages that have come.
    uint64_t stored_seq
    # Up to which they are stored, or refused.
    uint64_t flow_seq
    # Up to which its client was told.
    uint64_t stream_seq
    # Of the last one that is stored.
    int64_t touched_ns
    # When the last one came.
    uint32_t pending
    # Of those that were to be stored, and are not.
    uint32_t id_length
    uint16_t every
    # So many messages its client is told.
    uint16_t every_max
    uint8_t gap_is_good
    uint8_t is_committed
    char[BATCH_ID_MAX] id


cdef struct FastBatches:
    Fast* first
    uint32_t count


cdef int fast_read(Text reply, FastPlace* place) noexcept nogil
cdef Fast* fast_find(const FastBatches* batches, Text id) noexcept nogil
cdef Fast* fast_add(FastBatches* batches, const FastPlace* place) noexcept nogil
cdef void fast_drop(FastBatches* batches, Fast* batch) noexcept nogil
cdef bint fast_flows(const FastBatches* batches, Fast* batch) noexcept nogil
cdef void fast_drop_before(FastBatches* batches, int64_t time_ns) noexcept nogil
cdef int64_t fast_touched_ns(const FastBatches* batches) noexcept nogil
cdef void fast_free(FastBatches* batches) noexcept nogil
