"""Decompression of links: gather whole chunks, decode them for the parser.

A chunk is decoded into the block that all links share, behind what the one before left of a frame; one that doesn't fit, into a block of
its own; a large frame's next bytes, into that frame's block. A turn handles no more than its budget of plain bytes: some bytes of a bomb
may stand for 4 MiB. What is left waits, and the socket is not read meanwhile, so no peer makes this server hold more than an incomplete
chunk and a decoded one.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memmove, strlen

from framework.dataplane.delivery._delivery cimport link_doom
from framework.dataplane.links._links cimport link_parse, link_received, link_wake, link_window
from framework.dataplane.links._output cimport block_chars, block_drop, block_new
from framework.dataplane._state cimport READ_BLOCK_BYTES, READ_ERROR, Block, Coder, Coding, Link, State
from framework.dataplane._work cimport is_work_done
from framework.wire._s2 cimport s2_chunk_length, s2_decode, s2_is_identifier, s2_plain_length, s2_problem

cdef enum:
    RAW_BYTES = 262144
    # Of coded input that are held, at most, unless one chunk is longer.
    WRONG_BYTES = 64


# ---- chunks ------------------------------------------------------------------------------------------------------------


cdef bint _raw_grow(Coder* coder, Coding* coding, size_t room) noexcept nogil:
    cdef char* grown
    if coding.raw == NULL and room == RAW_BYTES and coder.raw_spare != NULL:
        grown = coder.raw_spare
        coder.raw_spare = NULL
    else:
        grown = <char*> realloc(coding.raw, room)
    if grown == NULL:
        return False
    coding.raw = grown
    coding.raw_room = room
    return True


cdef char* coded_window(State* state, Link* link, size_t* room) noexcept nogil:
    """Return where to put what a coded link sends next, and how much fits; NULL: no memory.

    There is room for the rest of the chunk that is incomplete. Sockets are read only where no whole one waits.
    """
    cdef Coding* coding = link.coding
    cdef size_t have = coding.raw_end - coding.raw_at
    cdef int64_t length = s2_chunk_length(coding.raw + coding.raw_at, have)
    cdef size_t wanted = max(<size_t> RAW_BYTES, <size_t> max(length, 0))
    if have >= wanted:
        wanted = have * 2
    if coding.raw_at:
        memmove(coding.raw, coding.raw + coding.raw_at, have)
        coding.raw_at = 0
        coding.raw_end = have
    if coding.raw_room < wanted and not _raw_grow(&state.coder, coding, wanted):
        return NULL
    room[0] = coding.raw_room - have
    return coding.raw + have


cdef void coded_received(State* state, Link* link, size_t length) noexcept nogil:
    """Count the bytes that were put into the link's window."""
    link.coding.raw_end += length
    link.wire_in_bytes += length
    link.received_ns = state.now_ns


cdef void _raw_leave(Coder* coder, Coding* coding) noexcept nogil:
    """Hold no memory for nothing."""
    if coding.raw == NULL or coding.raw_at < coding.raw_end:
        return
    if coding.raw_room == RAW_BYTES and coder.raw_spare == NULL:
        coder.raw_spare = coding.raw
    else:
        free(coding.raw)
    coding.raw = NULL
    coding.raw_at = coding.raw_end = coding.raw_room = 0


cdef void _refuse(State* state, Link* link, const char* wrong) noexcept nogil:
    cdef char detail[WRONG_BYTES]
    cdef size_t length = min(strlen(wrong), <size_t> (WRONG_BYTES - 5))
    memcpy(detail, b"S2: ", 4)
    memcpy(detail + 4, wrong, length)
    detail[4 + length] = 0
    link_doom(state, link, READ_ERROR, False, detail)


cdef char* _chunk_next(State* state, Link* link, size_t* length, size_t* plain) noexcept nogil:
    """Return the next chunk with plain bytes, of which the link now owes the rest; NULL: it is not whole yet, or the link is doomed."""
    cdef Coding* coding = link.coding
    cdef char* chunk
    cdef size_t have
    cdef int64_t found, inside
    while True:
        chunk = coding.raw + coding.raw_at
        have = coding.raw_end - coding.raw_at
        found = s2_chunk_length(chunk, have)
        inside = 0
        if 0 < found <= <int64_t> have:
            inside = s2_plain_length(chunk, found)
        if found < 0 or inside < 0:
            _refuse(state, link, s2_problem(chunk, have))
            return NULL
        if found == 0 or found > <int64_t> have:
            return NULL
        if not coding.identified and not s2_is_identifier(chunk, found):
            _refuse(state, link, "no stream identifier")
            return NULL
        coding.identified = 1
        coding.raw_at += found
        if inside:
            length[0] = found
            plain[0] = inside
            return chunk


# ---- decoding ----------------------------------------------------------------------------------------------------------


cdef Block* _block_for(State* state, Link* link, size_t plain) noexcept nogil:
    """Return a block, held, that begins with what is left of a frame and has room for `plain` bytes more; NULL: no memory."""
    cdef size_t room
    cdef Block* block
    if link.big == NULL and link.left_length + plain <= READ_BLOCK_BYTES:
        if link_window(state, link, &room) == NULL:
            return NULL
        state.read_block.users += 1
        return state.read_block
    block = block_new(link.left_length + plain)
    if block != NULL and link.left_length:
        memcpy(block_chars(block), link.left, link.left_length)
    return block


cdef size_t _into_big(State* state, Link* link, const char* chunk, size_t length, size_t plain) noexcept nogil:
    """Decode a chunk that is a part of a large frame to its place; return how many bytes that were."""
    cdef const char* wrong = s2_decode(chunk, length, block_chars(link.big) + link.big_fill)
    if wrong != NULL:
        _refuse(state, link, wrong)
    else:
        link_received(state, link, plain)
    return plain


cdef size_t _decode(State* state, Link* link) noexcept nogil:
    """Decode the next chunk; return how many plain bytes of it are handled already. No block afterwards, and 0: there was no chunk."""
    cdef Coding* coding = link.coding
    cdef size_t length, plain, room, kept = link.left_length
    cdef const char* wrong
    cdef char* chunk = _chunk_next(state, link, &length, &plain)
    cdef Block* block
    if chunk == NULL:
        return 0
    if link.big != NULL and plain <= link.big_need - link.big_fill:
        return _into_big(state, link, chunk, length, plain)
    block = _block_for(state, link, plain)
    if block == NULL:
        link_doom(state, link, READ_ERROR, False, "no memory")
        return 0
    wrong = s2_decode(chunk, length, block_chars(block) + kept)
    if wrong != NULL:
        block_drop(state, block)
        _refuse(state, link, wrong)
        return 0
    free(link.left)
    link.left = NULL
    link.left_length = 0
    coding.block = block
    coding.at = block_chars(block)
    coding.seen = coding.at + kept
    coding.end = coding.seen + plain
    if link.big == NULL:
        return 0
    room = link.big_need - link.big_fill
    memcpy(block_chars(link.big) + link.big_fill, coding.at, room)
    coding.at += room
    coding.seen += room
    link_received(state, link, room)
    return room


cdef void coded_go_on(State* state, Link* link, size_t budget) noexcept nogil:
    """Handle what a coded link has sent, about `budget` plain bytes of it; the rest waits for the next turn.

    A link that has more to do is woken, as is one that is resumed later.
    """
    cdef Coding* coding = link.coding
    cdef size_t part
    while (
        budget and not link.doomed and not link.parked and not link.paused and link.first_fanout == NULL and not is_work_done(state)
    ):
        if coding.block == NULL:
            part = _decode(state, link)
            budget -= min(part, budget)
            if coding.block == NULL and part == 0:
                break
            continue
        part = min(budget, <size_t> (coding.end - coding.seen))
        budget -= part
        coding.seen += part
        coding.at = link_parse(state, link, coding.at, coding.seen, coding.block, part, coding.seen == coding.end)
        if coding.seen == coding.end and not link.parked and not link.waiting and not link.doomed:
            block_drop(state, coding.block)
            coding.block = NULL
    if not link.doomed:
        _raw_leave(&state.coder, coding)
        link_wake(state, link)
