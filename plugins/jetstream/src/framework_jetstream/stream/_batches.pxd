"""The C face of batches that are not committed yet; see `_batches.pyx`."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from framework_jetstream.stream._headers cimport Text

cdef enum:
    BATCH_ID_MAX = 64


cdef enum Abandoned:
    # Why a batch is forgotten; `_advisories.pyx` has the words.
    ABANDONED_NOT = 0
    ABANDONED_TIMEOUT
    ABANDONED_LARGE
    ABANDONED_INCOMPLETE
    ABANDONED_UNSUPPORTED


cdef struct Staged:
    # A message that waits; subject, header and payload follow.
    Staged* next
    uint32_t subject_length
    uint32_t header_length
    uint32_t payload_length


cdef struct Batch:
    Batch* next
    uint64_t last_seq
    # Of its messages so far.
    int64_t touched_ns
    # When the last one came.
    Staged* first
    Staged* last
    uint32_t id_length
    char[BATCH_ID_MAX] id


cdef struct Batches:
    Batch* first
    uint32_t count
    uint64_t bytes
    # Of all messages that wait.


cdef Batch* batch_find(const Batches* batches, Text id) noexcept nogil
cdef Batch* batch_add(Batches* batches, Text id) noexcept nogil
cdef void batch_drop(Batches* batches, Batch* batch) noexcept nogil
cdef bint batch_stage(Batches* batches, Batch* batch, Text subject, Text header, Text payload) noexcept nogil
cdef Text staged_subject(const Staged* staged) noexcept nogil
cdef Text staged_header(const Staged* staged) noexcept nogil
cdef Text staged_payload(const Staged* staged) noexcept nogil
cdef Batch* batch_before(const Batches* batches, int64_t time_ns) noexcept nogil
cdef int64_t batches_touched_ns(const Batches* batches) noexcept nogil
cdef void batches_free(Batches* batches) noexcept nogil
