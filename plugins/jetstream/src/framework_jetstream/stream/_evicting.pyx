"""Bytes of messages that leave memory, and come back.

A block goes whose messages are all in segments, and which nobody has looked at since the hand of the clock was there last. The block that
is being filled stays, and so does one that another thread has to do with.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free

from framework_jetstream.store._block cimport HAS_HEADER, Entry, block_entry, block_last_seq, block_resident
from framework_jetstream.store._lean cimport block_leaned
from framework_jetstream.stream._messages cimport BlockPlace, block_replace, messages_count_block, messages_place

cdef enum:
    AGE_NEW = 3
    # Passes that bytes stay which have just come back: who waits for them has the time to look.


cdef bint _has_headers(const Block* block) noexcept nogil:
    cdef uint32_t index
    cdef Entry* entry
    for index in range(block.count):
        entry = block_entry(block, index)
        if entry.subject and entry.offset & <uint32_t> HAS_HEADER:
            return True
    return False


cdef bint _may_go(const Messages* messages, size_t at, const Sweep* sweep) noexcept nogil:
    cdef const Block* block = messages.blocks[at].block
    if block.data == NULL or block.is_held or block.is_asked or block.live == 0 or at + 1 == messages.block_end:
        return False
    if block_last_seq(block) > sweep.saved_seq:
        return False
    return not (sweep.keeps_headers and _has_headers(block))


cdef bint _lean(Messages* messages, size_t at) noexcept nogil:
    """Have a lean block in the place of one; False: no memory."""
    cdef Block* block = messages.blocks[at].block
    # Packed, an entry has 12 bytes instead of 8.
    cdef Block* made = block_leaned(block, 0 < block.live < block.count - block.count // 3)
    if made == NULL:
        return False
    block_replace(messages, at, made)
    return True


cdef uint64_t _let_go(Messages* messages, size_t at) noexcept nogil:
    """Forget the bytes of a block; return how many there were."""
    cdef Block* block = messages.blocks[at].block
    cdef uint64_t freed = block_resident(block)
    if block.is_lean:
        messages_count_block(messages, block, -1)
        free(block.data)
        block.data = NULL
        block.ahead = 0
        messages_count_block(messages, block, 1)
        return freed
    return freed if _lean(messages, at) else 0


cdef void _pass_by(Messages* messages) noexcept nogil:
    """Hear that the block at the hand has no bytes: if that is so of all before it, the next pass begins behind it."""
    cdef const BlockPlace* it = &messages.blocks[messages.hand]
    if it.first_seq <= messages.fat_seq and messages.hand + 1 < messages.block_end:
        messages.fat_seq = max(messages.fat_seq, it[1].first_seq)


cdef bint messages_sweep(Messages* messages, Sweep* sweep) noexcept nogil:
    """Let bytes go, from where the hand is; True: it has come to the end, and begins again."""
    cdef Block* block
    cdef uint64_t freed
    if messages.hand < messages.block_begin:
        messages.hand = messages.block_begin
    # What is in no segment stays, and so does all that is behind it.
    while messages.hand < messages.block_end and messages.blocks[messages.hand].first_seq <= sweep.saved_seq:
        if sweep.looks == 0 or sweep.bytes == 0:
            return False
        sweep.looks -= 1
        block = messages.blocks[messages.hand].block
        if block.data == NULL:
            _pass_by(messages)
        elif block.age:
            block.age -= 1
        elif _may_go(messages, messages.hand, sweep):
            freed = _let_go(messages, messages.hand)
            sweep.bytes -= min(freed, sweep.bytes)
        messages.hand += 1
    messages.hand = messages_place(messages, messages.fat_seq) if messages.block_begin < messages.block_end else messages.block_begin
    return True


cdef bint messages_lean(Messages* messages) noexcept nogil:
    """Let all bytes go, or what should be there for them; all messages are in segments. False: no memory."""
    cdef size_t at
    for at in range(messages.block_begin, messages.block_end):
        if not messages.blocks[at].block.is_lean and not _lean(messages, at):
            return False
    return True


cdef void messages_attach(Messages* messages, Block* block, char* data) noexcept nogil:
    """Let a lean block have its bytes again, which are its to free."""
    messages_count_block(messages, block, -1)
    block.data = data
    block.age = AGE_NEW
    messages.fat_seq = min(messages.fat_seq, block.first_seq)
    messages_count_block(messages, block, 1)
