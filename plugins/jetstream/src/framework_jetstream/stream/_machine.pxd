"""The C face of the stream machine; see `_machine.pyx`."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from framework_jetstream.stream._dedupe cimport Dedupe
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._messages cimport Messages, Record
from framework_jetstream.stream._ttls cimport Ttls


cdef enum Refusal:
    # Why a message is not stored; `engine/refusals.py` has their errors in this order.
    STORED = 0
    SEALED
    HEADER_TOO_LARGE
    MESSAGE_TOO_LARGE
    TTL_DISABLED
    TTL_UNREADABLE
    COUNTER_DISABLED
    ATOMIC_DISABLED
    SCHEDULES_DISABLED
    SOURCE_NOT_ALLOWED
    WRONG_STREAM
    WRONG_LAST_SEQ
    WRONG_LAST_SEQ_CONSTANT
    WRONG_LAST_MSG_ID
    LAST_SUBJECT_SEQ_MISSING
    ROLLUP_NOT_PERMITTED
    ROLLUP_INVALID
    MAX_MSGS_REACHED
    MAX_BYTES_REACHED
    MAX_MSGS_PER_SUBJECT_REACHED
    NO_MEMORY
    STORAGE_EXHAUSTED
    # The disk is full, or the log has ended: decided before anything is proposed.
    REFUSALS


cdef enum Retention:
    RETENTION_LIMITS = 0
    RETENTION_INTEREST
    RETENTION_WORKQUEUE


cdef struct Limits:
    # What of a stream's configuration decides on messages; counts and sizes below 1: no limit.
    int64_t max_msgs
    int64_t max_bytes
    int64_t max_age_ns
    int64_t max_msgs_per_subject
    int64_t max_msg_size
    int64_t duplicate_window_ns
    uint8_t retention
    uint8_t discard_new
    uint8_t discard_new_per_subject
    uint8_t sealed
    uint8_t allow_rollup
    uint8_t no_ack
    uint8_t allow_direct
    uint8_t allow_ttl


cdef struct Publish:
    # A message as it was published.
    Text subject
    Text header
    Text payload


cdef struct Outcome:
    # What became of it.
    int32_t refusal
    uint8_t is_duplicate
    uint64_t seq
    # Its own, that of the message that it repeats, or what an error shows.
    Text shown
    # By an error; valid until the stream changes.


cdef struct Stream:
    Limits limits
    Messages messages
    Dedupe dedupe
    Ttls ttls
    char* last_id
    # Id of the last message; NULL: it has none.
    uint32_t last_id_length
    uint32_t name_length
    const char* name
    void (*appended)(Stream* stream, const Record* record) noexcept nogil
    # Called when a message has come, before limits remove others, or itself; NULL: nobody listens.
    void (*removing)(Stream* stream, const Record* record) noexcept nogil
    # Called before a message goes; NULL: nobody listens.
    bint (*wanted)(Stream* stream, const char* subject, size_t length) noexcept nogil
    # Whether a consumer wants messages of a subject; NULL: none does.
    void* owner
    uint8_t stores_all
    # Even what nobody wants: what is stored follows from the log alone, consumers are told of elsewhere.


cdef void stream_begin(
    Stream* stream, const Limits* limits, const char* name, uint32_t name_length, uint64_t seed, bint is_file, uint64_t first_seq
) noexcept nogil
cdef void stream_free(Stream* stream) noexcept nogil
cdef void stream_publish(Stream* stream, const Publish* publish, int64_t now_ns, Outcome* outcome) noexcept nogil
cdef bint stream_put(Stream* stream, const Publish* publish, uint64_t seq, int64_t time_ns) noexcept nogil
cdef void stream_set_limits(Stream* stream, const Limits* limits, int64_t now_ns) noexcept nogil
cdef int64_t stream_expire(Stream* stream, int64_t now_ns) noexcept nogil
cdef uint64_t stream_purge(Stream* stream, const char* pattern, size_t length, uint64_t seq, uint64_t keep) noexcept nogil
cdef bint stream_delete(Stream* stream, uint64_t seq) noexcept nogil
cdef uint64_t stream_last_seq_of(Stream* stream, const char* pattern, size_t length) noexcept nogil
cdef Limits limits_made(dict fields)
