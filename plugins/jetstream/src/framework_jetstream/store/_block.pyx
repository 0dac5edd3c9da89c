"""Blocks: messages one behind the other, and what tells where they are.

One piece of memory has both. Bytes of messages grow from its begin, entries of 8 bytes from its end; it is full when they meet. What is
removed leaves an entry without a subject; a block of which little is left is *packed*, with its neighbour if that is packed as well, and
then says of each entry which sequence it has. So a message that is alone for long costs no more than itself and 12 bytes.

Where the bytes are in a segment as well, a block may be *lean*: then it has entries alone, and its bytes come and go (`_lean.pyx`).
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset


cdef Block* block_made(uint64_t first_seq, size_t wanted, size_t before) noexcept nogil:
    """Return an empty block; NULL: no memory.

    Args:
        wanted: Bytes of the message that comes, with its entry.
        before: Room of the block before, 0: there is none. Blocks of a stream grow until they have 64 KiB.
    """
    cdef size_t size = max(wanted, min(max(before * 2, <size_t> BLOCK_BYTES_LEAST), <size_t> BLOCK_BYTES))
    cdef Block* made
    size = (size + 7) & ~<size_t> 7
    made = <Block*> malloc(sizeof(Block) + size)
    if made == NULL:
        return NULL
    memset(made, 0, sizeof(Block))
    made.first_seq = first_seq
    made.size = <uint32_t> size
    made.data = <char*> (made + 1)
    made.entries = <Entry*> (made.data + size)
    return made


cdef void block_free(Block* block) noexcept nogil:
    """Free a block, as soon as no other thread needs it."""
    block.is_gone = 1
    block_release(block)


cdef void block_release(Block* block) noexcept nogil:
    """Free a block that another thread needs no more, if no stream has it."""
    if not block.is_gone or block.is_held or block.is_asked:
        return
    if block.is_lean:
        free(block.data)
    free(block.nexts)
    free(block)


cdef Block* block_copied(Block* block) noexcept nogil:
    """Return a copy of a block that is held, to be changed in its place; NULL: no memory."""
    cdef size_t before = block.count * sizeof(Entry) if block.is_lean else block.size
    cdef size_t places = block.count * sizeof(uint32_t) if block.places != NULL else 0
    cdef Block* made = <Block*> malloc(sizeof(Block) + before + places + block.time_bytes)
    if made == NULL:
        return NULL
    memcpy(made, block, sizeof(Block) + before + places + block.time_bytes)
    made.is_held = made.is_asked = 0
    made.entries = <Entry*> (<char*> (made + 1) + before)
    if not block.is_lean:
        made.data = <char*> (made + 1)
    elif block.data != NULL:
        made.data = <char*> malloc(block.used + DATA_SLACK)
        if made.data == NULL:
            free(made)
            return NULL
        memcpy(made.data, block.data, block.used)
    if made.places != NULL:
        made.places = <uint32_t*> made.entries
    if block.is_lean:
        made.times = <uint8_t*> made.entries + places
    block.nexts = NULL
    block.next_room = 0
    return made


cdef uint64_t block_memory(const Block* block) noexcept nogil:
    """Return the bytes that a block takes, but for what malloc needs itself."""
    return (
        sizeof(Block) + block_resident(block) + block.next_room * sizeof(uint32_t) + block.time_bytes
        + (block.count * sizeof(uint32_t) if block.places != NULL else 0) + (block.count * sizeof(Entry) if block.is_lean else 0)
    )


cdef bint block_make_room(Block* block, uint64_t seq, size_t size) noexcept nogil:
    """Let a message with a sequence and a body of so many bytes come next, with holes before it; False: it has to begin a block."""
    cdef uint64_t index = seq - block.first_seq
    cdef Entry* entry
    if block.places != NULL or block.used + size + (index + 1) * sizeof(Entry) > block.size:
        return False
    while block.count < index:
        entry = block_entry(block, block.count)
        entry.offset = block.used
        entry.subject = 0
        block.count += 1
    return True


cdef void block_append(
    Block* block, uint32_t subject, int64_t time_ns, const char* header, size_t header_length, const char* payload, size_t payload_length,
) noexcept nogil:
    """Add a message, for which there is room; of a header or a payload that is NULL only the room is taken."""
    cdef Entry* entry = block_entry(block, block.count)
    cdef char* to = block.data + block.used
    cdef uint32_t length = <uint32_t> header_length
    entry.offset = block.used
    entry.subject = subject
    memcpy(to, &time_ns, sizeof(int64_t))
    to += sizeof(int64_t)
    if header_length:
        entry.offset |= <uint32_t> HAS_HEADER
        memcpy(to, &length, sizeof(uint32_t))
        to += sizeof(uint32_t)
    if header != NULL:
        memcpy(to, header, header_length)
    to += header_length
    if payload != NULL:
        memcpy(to, payload, payload_length)
    to += payload_length
    length = <uint32_t> (to - block.data) - block.used
    block.used += length
    block.live_bytes += length
    block.live += 1
    block.count += 1


cdef uint32_t block_place(const Block* block, uint64_t place) noexcept nogil:
    """Return the first entry of a packed block that is so far behind its begin, or farther."""
    cdef uint32_t low = 0, high = block.count, middle
    while low < high:
        middle = low + (high - low) // 2
        if block.places[middle] < place:
            low = middle + 1
        else:
            high = middle
    return low


cdef bint block_set_next(Block* block, uint32_t index, uint32_t distance) noexcept nogil:
    """Say how far it is from an entry to the next message of its subject; False: no memory."""
    cdef uint32_t room
    cdef void* grown
    if index >= block.next_room:
        # As many as the block will have entries, if the messages that come are like those before.
        room = block.size // (block.used // block.count + <uint32_t> sizeof(Entry)) + 1
        room = max(block.count, min(room, block.next_room * 2 + 16))
        grown = realloc(block.nexts, room * sizeof(uint32_t))
        if grown == NULL:
            return False
        block.nexts = <uint32_t*> grown
        memset(block.nexts + block.next_room, 0, (room - block.next_room) * sizeof(uint32_t))
        block.next_room = room
    block.nexts[index] = distance
    return True


cdef void _pack(Block* to, const Block* source) noexcept nogil:
    """Copy what lives."""
    cdef uint32_t index, length
    cdef Entry* entry
    cdef Entry* made
    for index in range(source.count):
        entry = block_entry(source, index)
        if entry.subject == 0:
            continue
        length = body_bytes(source, index)
        made = block_entry(to, to.count)
        made.offset = to.used | (entry.offset & <uint32_t> HAS_HEADER)
        made.subject = entry.subject
        memcpy(to.data + to.used, source.data + entry_begin(entry), length)
        to.places[to.count] = <uint32_t> (block_seq(source, index) - to.first_seq)
        if to.nexts != NULL and index < source.next_room:
            to.nexts[to.count] = source.nexts[index]
        to.used += length
        to.count += 1


cdef Block* block_packed(const Block* first, const Block* second) noexcept nogil:
    """Return a block of what lives in one or two that follow each other; NULL: no memory.

    Args:
        first: Has a message that lives, and its bytes, as `second` has.
        second: NULL: there is none. Its sequences are less than 2**32 above those of `first`.
    """
    cdef uint32_t live = first.live + (second.live if second != NULL else 0)
    cdef size_t size = first.live_bytes + (second.live_bytes if second != NULL else 0)
    cdef Block* made
    size = ((size + 7) & ~<size_t> 7) + live * sizeof(Entry)
    made = <Block*> malloc(sizeof(Block) + size + live * sizeof(uint32_t))
    if made == NULL:
        return NULL
    memset(made, 0, sizeof(Block))
    made.first_seq = first.first_seq
    made.size = <uint32_t> size
    made.data = <char*> (made + 1)
    made.entries = <Entry*> (made.data + size)
    made.places = <uint32_t*> made.entries
    if first.nexts != NULL or (second != NULL and second.nexts != NULL):
        made.nexts = <uint32_t*> calloc(live, sizeof(uint32_t))
        if made.nexts == NULL:
            free(made)
            return NULL
        made.next_room = live
    _pack(made, first)
    if second != NULL:
        _pack(made, second)
    made.live = made.count
    made.live_bytes = made.used
    return made
