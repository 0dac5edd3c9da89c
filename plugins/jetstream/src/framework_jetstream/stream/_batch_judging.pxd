"""The C face of whether a message of a batch is stored; see `_batch_judging.pyx`."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from framework.sublist._table cimport Key, Table
from framework_jetstream.stream._headers cimport PublishHeaders
from framework_jetstream.stream._machine cimport Outcome, Publish, Stream


cdef struct InBatch:
    # What messages before it in the batch say of a subject, an id, or an expectation; first member as tables want it.
    Key key
    InBatch* next
    uint64_t count
    uint64_t seq
    # That a message has expected.
    char* total
    # What its counter has come to; NULL: it does not count.
    uint32_t total_length
    uint8_t is_schedule
    # The last message with its subject is one.


cdef struct BatchView:
    # What the messages before it in the batch will have done.
    Table subjects
    Table ids
    Table expected
    InBatch* first
    # All of them.
    uint64_t count
    uint64_t bytes


cdef int refusal_in_batch(
    Stream* stream, BatchView* view, Publish* message, PublishHeaders* headers, int64_t now_ns, Outcome* outcome
) noexcept nogil
cdef void view_free(BatchView* view) noexcept nogil
