"""The C face of a stream's messages; see `_messages.pyx`."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from framework.sublist._table cimport Key, Table


cdef enum:
    CHUNK_RECORDS = 1024


cdef struct Subject:
    # A subject that messages have; first member as tables want it.
    Key key
    Record* first
    Record* last
    uint64_t count
    uint64_t mark
    # Whether the scan of this number wants it; see `messages_mark`.


cdef struct Record:
    # One message; header and payload follow.
    Subject* subject
    Record* previous
    Record* next
    # Of the same subject.
    Block* block
    uint64_t seq
    int64_t time_ns
    # Unix time.
    uint32_t header_length
    uint32_t payload_length


cdef struct Block:
    # Room for records, freed when none lives in it.
    uint32_t size
    uint32_t used
    uint32_t live
    # Records, and one for the block that is being filled.
    uint32_t live_bytes


cdef struct Chunk:
    # Records by sequence; NULL: deleted.
    uint32_t live
    Record* records[CHUNK_RECORDS]


cdef struct Messages:
    uint64_t seed
    Table subjects
    Chunk** chunks
    # By `seq // CHUNK_RECORDS - chunk_first`; NULL: none of them lives.
    uint64_t chunk_first
    size_t chunk_count
    size_t chunk_room
    uint64_t first_seq
    # Of the first message; without messages that of the next one, or 0 before there was one.
    uint64_t last_seq
    int64_t last_time_ns
    uint64_t count
    uint64_t bytes
    # As nats-server counts them.
    uint64_t marks
    # Scans so far.
    uint32_t overhead
    # Bytes that a message counts beside its own.
    uint32_t header_overhead
    # And more where it has headers.
    Block* filling


cdef void messages_begin(
    Messages* messages, uint64_t seed, uint32_t overhead, uint32_t header_overhead, uint64_t first_seq
) noexcept nogil
cdef void messages_free(Messages* messages) noexcept nogil
cdef uint64_t message_bytes(Messages* messages, size_t subject_length, size_t header_length, size_t payload_length) noexcept nogil
cdef uint64_t record_bytes(Messages* messages, Record* record) noexcept nogil
cdef const char* record_header(Record* record) noexcept nogil
cdef const char* record_payload(Record* record) noexcept nogil
cdef Subject* messages_subject(Messages* messages, const char* subject, size_t length) noexcept nogil
cdef Record* messages_append(
    Messages* messages, const char* subject, size_t subject_length, const char* header, size_t header_length, const char* payload,
    size_t payload_length, int64_t time_ns,
) noexcept nogil
cdef Record* messages_get(Messages* messages, uint64_t seq) noexcept nogil
cdef Record* messages_next(Messages* messages, uint64_t seq) noexcept nogil
cdef Record* messages_first(Messages* messages) noexcept nogil
cdef void messages_remove(Messages* messages, Record* record) noexcept nogil
cdef void messages_skip_to(Messages* messages, uint64_t first_seq) noexcept nogil
cdef uint64_t messages_mark(Messages* messages, const char* pattern, size_t length) noexcept nogil
cdef bint pattern_matches(const char* pattern, size_t pattern_length, const char* subject, size_t length) noexcept nogil
cdef bint pattern_is_literal(const char* pattern, size_t length) noexcept nogil
