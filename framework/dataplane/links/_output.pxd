"""Output of links: blocks of bytes that wait to be sent, and what to send from where it was read."""

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from framework.dataplane._state cimport (
    BLOCKS_KEPT, OUTPUT_BLOCK_BYTES, Block, Link, Segment, State,
)
from framework.dataplane._work cimport dirty_add
from framework.sublist._bytes cimport COPY_SLACK, copy_short


cdef inline char* block_chars(Block* block) noexcept nogil:
    return <char*> (block + 1)


cdef inline Block* block_new(size_t capacity) noexcept nogil:
    cdef Block* block = <Block*> malloc(sizeof(Block) + capacity + COPY_SLACK)
    if block != NULL:
        block.next = NULL
        block.capacity = capacity
        block.users = 1
    return block


cdef inline Block* block_take(State* state, size_t need) noexcept nogil:
    """Return a block for output with one user; NULL: no memory."""
    cdef Block* block = state.blocks
    if need > OUTPUT_BLOCK_BYTES:
        return block_new(need)
    if block == NULL:
        return block_new(OUTPUT_BLOCK_BYTES)
    state.blocks = block.next
    state.block_count -= 1
    block.users = 1
    return block


cdef inline void block_drop(State* state, Block* block) noexcept nogil:
    """One user less; the last one gives the block back."""
    block.users -= 1
    if block.users:
        return
    if block.capacity == OUTPUT_BLOCK_BYTES and state.block_count < BLOCKS_KEPT:
        block.next = state.blocks
        state.blocks = block
        state.block_count += 1
    else:
        free(block)


cdef inline Segment* segment_new(State* state, Block* block, char* chars, size_t length) noexcept nogil:
    """Return a segment for `length` bytes of a block, which gets a user more; NULL: no memory."""
    cdef Segment* segment = state.segments
    if segment != NULL:
        state.segments = segment.next
    else:
        segment = <Segment*> malloc(sizeof(Segment))
        if segment == NULL:
            return NULL
    block.users += 1
    segment.next = NULL
    segment.block = block
    segment.chars = chars
    segment.length = length
    return segment


cdef inline bint output_segment(State* state, Link* link, Block* block, char* chars, size_t length) noexcept nogil:
    """Let `length` bytes of a block follow what waits; the block gets a user more."""
    cdef Segment* segment = segment_new(state, block, chars, length)
    if segment == NULL:
        return False
    if link.output_tail == NULL:
        link.output_head = segment
    else:
        link.output_tail.next = segment
    link.output_tail = segment
    return True


cdef inline void output_mark(State* state, Link* link, size_t length) noexcept nogil:
    """Count bytes that were appended; the shell will find the link among the dirty ones."""
    if link.pending == 0:
        link.written_ns = state.now_ns
    link.pending += length
    dirty_add(state, link)


cdef inline char* output_reserve(State* state, Link* link, size_t length) noexcept nogil:
    """Return room for `length` bytes and COPY_SLACK; nothing is appended yet. NULL: no memory."""
    cdef Block* block
    if <size_t> (link.write_end - link.write_at) < length or link.write_block == NULL:
        block = block_take(state, length)
        if block == NULL:
            return NULL
        if link.write_block != NULL:
            block_drop(state, link.write_block)
        link.write_block = block
        link.write_at = block_chars(block)
        link.write_end = link.write_at + block.capacity
    return link.write_at


cdef inline bint output_commit(State* state, Link* link, size_t length) noexcept nogil:
    """Append the `length` bytes that were written to the room reserved; False: no memory."""
    cdef Segment* tail = link.output_tail
    if tail != NULL and tail.block == link.write_block and tail.chars + tail.length == link.write_at:
        tail.length += length
    elif not output_segment(state, link, link.write_block, link.write_at, length):
        return False
    link.write_at += length
    output_mark(state, link, length)
    return True


cdef inline bint output_append(State* state, Link* link, const char* chars, size_t length) noexcept nogil:
    """Append a copy of `length` bytes; False: no memory."""
    cdef char* room = output_reserve(state, link, length)
    if room == NULL:
        return False
    memcpy(room, chars, length)
    return output_commit(state, link, length)


cdef inline void output_sent(State* state, Link* link, size_t length) noexcept nogil:
    """Forget the first `length` bytes of what waits: they were sent."""
    cdef Segment* head
    link.pending -= length
    link.sent_bytes += length
    link.wire_out_bytes += length
    if link.coding != NULL:
        link.coding.coded -= length
    link.written_ns = state.now_ns
    while length:
        head = link.output_head
        if head.length > length:
            head.chars += length
            head.length -= length
            return
        length -= head.length
        output_pop(state, link)
    if link.output_head == NULL and link.write_block != NULL:
        block_drop(state, link.write_block)
        link.write_block = NULL
        link.write_at = link.write_end = NULL


cdef inline void output_pop(State* state, Link* link) noexcept nogil:
    cdef Segment* head = link.output_head
    link.output_head = head.next
    if head.next == NULL:
        link.output_tail = NULL
    block_drop(state, head.block)
    head.next = state.segments
    state.segments = head


cdef inline void output_discard(State* state, Link* link) noexcept nogil:
    """Forget all that waits."""
    while link.output_head != NULL:
        output_pop(state, link)
    if link.write_block != NULL:
        block_drop(state, link.write_block)
        link.write_block = NULL
        link.write_at = link.write_end = NULL
    if link.coding != NULL:
        link.coding.coded = 0
    link.pending = 0
