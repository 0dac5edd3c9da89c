"""The C face of the message ids that a stream remembers; see `_dedupe.pyx`."""

from libc.stdint cimport int64_t, uint64_t

from framework.sublist._table cimport Key, Table


cdef struct MessageId:
    # First member as tables want it; the id follows.
    Key key
    MessageId* next
    uint64_t seq
    int64_t time_ns


cdef struct Dedupe:
    uint64_t seed
    Table ids
    MessageId* first
    MessageId* last


cdef uint64_t dedupe_find(Dedupe* dedupe, const char* id, size_t length) noexcept nogil
cdef void dedupe_add(Dedupe* dedupe, const char* id, size_t length, uint64_t seq, int64_t time_ns) noexcept nogil
cdef void dedupe_expire(Dedupe* dedupe, int64_t before_ns) noexcept nogil
cdef void dedupe_free(Dedupe* dedupe) noexcept nogil
