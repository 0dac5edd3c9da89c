"""The C face of a block of messages; see `_block.pyx`."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    BLOCK_BYTES = 65536
    BLOCK_BYTES_LEAST = 256
    NO_MESSAGE = 0xffffffff
    HAS_HEADER = 0x80000000
    # In an offset.
    BODY_BYTES_MAX = 0x7fffffff
    DATA_SLACK = 64
    # Behind bytes that were read back, for who copies more than there is.


cdef struct Entry:
    # What is kept of a message where its bytes are not: they end where those of the next entry begin.
    uint32_t offset
    # Where they begin in the block's; and whether they have a header.
    uint32_t subject
    # Its number; 0: the message was removed.


cdef struct Block:
    uint64_t first_seq
    # Of the first entry.
    uint32_t count
    # Entries.
    uint32_t live
    # Messages.
    uint32_t live_bytes
    # Of them.
    uint32_t used
    # Bytes of data.
    uint32_t size
    # Room for data and entries.
    uint32_t next_room
    uint8_t is_held
    # Another thread writes what is in it now: messages may come behind that, and none may go.
    uint8_t is_asked
    # Another thread reads its bytes back: messages may go, and none may move.
    uint8_t is_gone
    # No stream has it; it is freed when both have let it go.
    uint8_t is_lean
    # It has no room for bytes: `data` is a piece of memory of its own, or NULL where they are in a segment alone.
    uint8_t age
    # How often it is passed over before its bytes go.
    uint8_t ahead
    # When it is looked at, so many blocks behind those that were read with it are wanted; 0: none.
    uint32_t time_bytes
    uint32_t time_begin
    # The run of entries at which `block_time` is, and where the next one stands.
    uint32_t time_end
    uint32_t time_at
    int64_t time_ns
    uint8_t* times
    # Of a lean block: runs of entries with the same time; see `_lean.pyx`.
    uint32_t* places
    # Entry `i` has the sequence `first_seq + places[i]`; NULL: `first_seq + i`.
    uint32_t* nexts
    # How far it is to the next message of the same subject, as it was when that came; 0: not known. NULL: nobody asks.
    Entry* entries
    # Their end: entry `i` is `entries[-1 - i]`.
    char* data
    # A body each: time (8), length of the header (4) if there is one, header, payload.


cdef struct HeldBlock:
    # A block as it was: what came later is behind `count` and `used`.
    Block* block
    char* data
    # NULL: its bytes are in a segment alone.
    uint32_t count
    uint32_t used
    uint8_t is_own
    # The bytes were read for this, and are freed with it.


cdef inline Entry* block_entry(const Block* block, uint32_t index) noexcept nogil:
    return block.entries - 1 - index


cdef inline uint64_t block_seq(const Block* block, uint32_t index) noexcept nogil:
    return block.first_seq + (block.places[index] if block.places != NULL else index)


cdef inline uint64_t block_last_seq(const Block* block) noexcept nogil:
    """Return the sequence of the last entry; there is one."""
    return block_seq(block, block.count - 1)


cdef inline uint32_t entry_begin(const Entry* entry) noexcept nogil:
    return entry.offset & ~<uint32_t> HAS_HEADER


cdef inline uint32_t body_bytes(const Block* block, uint32_t index) noexcept nogil:
    """Return the length of a message's bytes."""
    cdef Entry* entry = block_entry(block, index)
    cdef uint32_t end = entry_begin(entry - 1) if index + 1 < block.count else block.used
    return end - entry_begin(entry)


cdef inline uint32_t held_bytes(const HeldBlock* held, uint32_t index) noexcept nogil:
    """Return the length of a message's bytes in a block as it was."""
    cdef uint32_t end = held.used
    if index + 1 < held.count:
        end = entry_begin(block_entry(held.block, index + 1))
    return end - entry_begin(block_entry(held.block, index))


cdef inline uint64_t block_resident(const Block* block) noexcept nogil:
    """Return the bytes of memory that are there for bytes of messages."""
    if not block.is_lean:
        return block.size
    return block.used if block.data != NULL else 0


cdef inline uint32_t text_bytes(const Entry* entry, uint32_t length) noexcept nogil:
    """Return the length of header and payload together, of a message whose bytes have a length."""
    return length - <uint32_t> (sizeof(int64_t) + (sizeof(uint32_t) if entry.offset & <uint32_t> HAS_HEADER else 0))


cdef inline uint32_t header_bytes(const Block* block, const Entry* entry) noexcept nogil:
    cdef uint32_t length = 0
    if entry.offset & <uint32_t> HAS_HEADER:
        memcpy(&length, block.data + entry_begin(entry) + sizeof(int64_t), sizeof(uint32_t))
    return length


cdef uint32_t block_place(const Block* block, uint64_t place) noexcept nogil


cdef inline uint32_t block_from(const Block* block, uint64_t seq) noexcept nogil:
    """Return the first entry with a sequence or a higher one; `count`: there is none. Cost: O(log entries) where it is packed."""
    if seq <= block.first_seq:
        return 0
    if block.places != NULL:
        return block_place(block, seq - block.first_seq)
    return <uint32_t> min(seq - block.first_seq, <uint64_t> block.count)


cdef inline uint32_t block_index(const Block* block, uint64_t seq) noexcept nogil:
    """Return the entry of a message; NO_MESSAGE: there is none with this sequence."""
    cdef uint32_t index = block_from(block, seq)
    if index >= block.count or block_seq(block, index) != seq or block_entry(block, index).subject == 0:
        return <uint32_t> NO_MESSAGE
    return index


cdef Block* block_made(uint64_t first_seq, size_t wanted, size_t before) noexcept nogil
cdef void block_free(Block* block) noexcept nogil
cdef void block_release(Block* block) noexcept nogil
cdef Block* block_copied(Block* block) noexcept nogil
cdef bint block_make_room(Block* block, uint64_t seq, size_t size) noexcept nogil
cdef void block_append(
    Block* block, uint32_t subject, int64_t time_ns, const char* header, size_t header_length, const char* payload, size_t payload_length,
) noexcept nogil
cdef bint block_set_next(Block* block, uint32_t index, uint32_t distance) noexcept nogil
cdef Block* block_packed(const Block* first, const Block* second) noexcept nogil
cdef uint64_t block_memory(const Block* block) noexcept nogil
