"""The C face of the headers that streams look at; see `_headers.pyx`."""

from libc.stdint cimport int64_t, uint32_t, uint64_t


cdef enum:
    TTL_NEVER = -1
    TTL_INVALID = -2
    TTL_NONE = 0
    DURATION_INVALID = -1


cdef struct Text:
    # A part of somebody else's bytes; NULL: it is absent.
    const char* chars
    uint32_t length


cdef struct PublishHeaders:
    Text msg_id
    Text expected_stream
    Text expected_last_seq
    Text expected_last_subject_seq
    Text expected_last_subject
    Text expected_last_msg_id
    Text rollup
    Text ttl
    Text incr
    Text batch_id
    Text batch_seq
    Text batch_commit
    Text required_level
    Text counter_sources
    Text schedule
    Text schedule_next
    Text schedule_target
    Text schedule_source
    Text schedule_ttl
    Text schedule_rollup
    Text schedule_zone
    Text scheduler
    Text stream_source


cdef void headers_read(PublishHeaders* headers, const char* block, size_t length) noexcept nogil
cdef Text header_value(const char* block, size_t length, const char* name, size_t name_length) noexcept nogil
cdef bint text_is(Text text, const char* other, size_t length) noexcept nogil
cdef uint64_t seq_of_text(Text text) noexcept nogil
cdef int64_t duration_of_text(Text text) noexcept nogil
cdef int64_t ttl_of_text(Text text) noexcept nogil
