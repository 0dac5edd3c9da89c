"""The C face of Raft's frames; see `_messages.pyx`."""

from libc.stdint cimport uint16_t, uint32_t, uint64_t

from framework_jetstream.raft._state cimport RaftEntry, RaftMessage

cdef enum:
    FRAME_VERSION = 1
    FRAME_MAGIC = 0x54464152  # RAFT
    FRAME_BYTES_MAX = 1 << 30

cdef enum:  # why a frame is refused; 0: it is good
    FRAME_CUT = 1  # or longer than it says
    FRAME_FOREIGN = 2  # no frame of ours, or of another server, or to another one
    FRAME_NEWER = 3
    FRAME_LIES = 4


cdef packed struct FrameHead:  # all numbers little-endian; then come `count` messages
    uint32_t magic
    uint16_t version
    uint16_t reserved
    uint32_t length  # of the frame
    uint32_t count
    uint64_t sender
    uint64_t to


cdef packed struct MessageHead:  # then come `entry_count` entries
    uint32_t length  # of the message
    unsigned char kind
    unsigned char flags
    uint16_t reserved
    uint32_t entry_count
    uint32_t reserved_too
    uint64_t group
    uint64_t term
    uint64_t index
    uint64_t log_term
    uint64_t commit
    uint64_t context


cdef packed struct EntryHead:  # then come `length` bytes
    uint64_t term
    uint32_t length
    uint16_t kind
    uint16_t reserved


cdef void frame_begin(FrameHead* head, uint64_t sender, uint64_t to, uint32_t length, uint32_t count) noexcept nogil
cdef void message_begin(MessageHead* head, const RaftMessage* message, uint64_t entries_bytes) noexcept nogil
cdef void entry_begin(EntryHead* head, uint64_t term, uint16_t kind, uint32_t length) noexcept nogil
cdef int frame_check(const char* frame, size_t length, uint64_t sender, uint64_t to) noexcept nogil
cdef const char* next_message(const char* at, RaftMessage* message) noexcept nogil
cdef const char* next_entry(const char* at, RaftEntry* entry) noexcept nogil
