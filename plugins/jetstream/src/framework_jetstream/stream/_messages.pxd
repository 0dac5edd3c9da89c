"""The C face of a stream's messages; see `_messages.pyx`."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from framework_jetstream.store._block cimport Block
from framework_jetstream.store._subjects cimport Subject, Subjects
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._usage cimport Usage


cdef struct Record:
    # What a stream says of one message; its bytes stay where they are until the stream changes.
    Subject* subject
    uint64_t seq
    # 0: there is no message.
    int64_t time_ns
    # Unix time.
    uint32_t header_length
    uint32_t payload_length
    const char* chars
    # Header, then payload. NULL: they are in a segment alone; then where one ends is not known, and all counts as header if there is one.


cdef struct BlockPlace:
    uint64_t first_seq
    Block* block


cdef struct Messages:
    Subjects subjects
    BlockPlace* blocks
    # In order of sequences; the last one is being filled.
    size_t block_begin
    size_t block_end
    size_t block_room
    size_t looked_at
    # The block that was looked at last.
    uint64_t first_seq
    # Of the first message; without messages that of the next one, or 0 before there was one.
    uint64_t last_seq
    int64_t last_time_ns
    uint64_t count
    uint64_t bytes
    # As nats-server counts them.
    Usage* usage
    # Where they are counted, too; NULL: nowhere.
    uint32_t overhead
    # Bytes that a message counts beside its own.
    uint32_t header_overhead
    # And more where it has headers.
    uint8_t keeps_nexts
    uint8_t is_spoiled
    # A block was changed while it was held: for a copy there was no memory.
    size_t absent
    # Blocks whose bytes are in a segment alone.
    size_t hand
    # The block at which who lets bytes go is.
    uint64_t fat_seq
    # Blocks that begin before it have no bytes in memory.
    uint64_t ahead_seq
    # Of a block that was looked at, behind which more is wanted; 0: of none.
    uint64_t* resident
    # Where memory for bytes of messages is counted, too; NULL: nowhere.
    bint (*fetch)(void* owner, Block* block) noexcept nogil
    # Reads the bytes of a block back at once; False: it can't. NULL: all are here.
    void* owner
    # Of `fetch`.


cdef inline const char* record_header(const Record* record) noexcept nogil:
    return record.chars


cdef inline const char* record_payload(const Record* record) noexcept nogil:
    return record.chars + record.header_length


cdef inline uint64_t message_bytes(
    const Messages* messages, size_t subject_length, size_t header_length, size_t payload_length
) noexcept nogil:
    """Return how many bytes a message counts. Source: nats-server `memstore.go`, `filestore.go`, sizes of messages."""
    return messages.overhead + subject_length + header_length + payload_length + (messages.header_overhead if header_length else 0)


cdef inline uint64_t record_bytes(const Messages* messages, const Record* record) noexcept nogil:
    return message_bytes(messages, record.subject.length, record.header_length, record.payload_length)


cdef inline bint record_is_absent(const Record* record) noexcept nogil:
    """Whether there is a message, but not its bytes."""
    return record.seq != 0 and record.chars == NULL


cdef void messages_begin(
    Messages* messages, uint64_t seed, uint32_t overhead, uint32_t header_overhead, uint64_t first_seq
) noexcept nogil
cdef void messages_free(Messages* messages) noexcept nogil
cdef Record messages_append(
    Messages* messages, const char* subject, size_t subject_length, const char* header, size_t header_length, const char* payload,
    size_t payload_length, int64_t time_ns,
) noexcept nogil
cdef void messages_remove(Messages* messages, uint64_t seq) noexcept nogil
cdef void messages_skip_to(Messages* messages, uint64_t seq) noexcept nogil
cdef void messages_keep_nexts(Messages* messages, bint wanted) noexcept nogil

cdef Record messages_get(Messages* messages, uint64_t seq) noexcept nogil
cdef Record messages_next(Messages* messages, uint64_t seq) noexcept nogil
cdef Record messages_next_marked(Messages* messages, uint64_t seq) noexcept nogil
cdef Record messages_previous_marked(Messages* messages, uint64_t seq) noexcept nogil
cdef Record messages_next_matching(Messages* messages, uint64_t seq, const Text* filters, uint32_t filter_count) noexcept nogil
cdef Record messages_first(Messages* messages) noexcept nogil
cdef Record messages_get_whole(Messages* messages, uint64_t seq) noexcept nogil
cdef uint64_t messages_seq_from(Messages* messages, int64_t time_ns) noexcept nogil
cdef uint64_t messages_count_marked(Messages* messages, uint64_t seq) noexcept nogil
cdef uint64_t messages_memory(const Messages* messages) noexcept nogil
cdef size_t messages_place(Messages* messages, uint64_t seq) noexcept nogil
cdef void messages_count_block(Messages* messages, const Block* block, int sign) noexcept nogil
cdef void block_replace(Messages* messages, size_t at, Block* made) noexcept nogil

# By subject: a subject has messages, so these return a sequence.
cdef Subject* messages_subject(Messages* messages, const char* subject, size_t length) noexcept nogil
cdef uint64_t messages_first_of(Messages* messages, Subject* subject) noexcept nogil
cdef uint64_t messages_last_of(Messages* messages, Subject* subject) noexcept nogil
