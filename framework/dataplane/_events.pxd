"""The C face of events for Python; see `_events.pyx`."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from framework.dataplane._state cimport Record, Row


cdef struct SubscriptionRecord:
    # Head of one row of a listing; subject, queue and sid follow.
    uint64_t link
    uint64_t cid
    int64_t msgs
    int64_t max_msgs
    uint32_t account
    uint32_t weight
    uint32_t subject_length
    uint32_t queue_length
    uint32_t sid_length


cdef object row_made(Row* row)
cdef object event_made(Record* record)
