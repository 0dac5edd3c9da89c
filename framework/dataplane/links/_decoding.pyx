"""Input of coded links: gather what a stage needs for a step, decode it for the next stage, at last for the parser.

A step is decoded into the block that all links share, behind what the one before left of a frame; one that doesn't fit, into a block of
its own; a large frame's next bytes, into that frame's block. A turn handles no more than its budget of plain bytes: some bytes of a bomb
may stand for 4 MiB. What is left waits, and the socket is not read meanwhile, so no peer makes this server hold more than an incomplete
step and a decoded one.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memmove

from framework.dataplane.delivery._delivery cimport link_doom
from framework.dataplane.links._links cimport link_parse, link_received, link_wake, link_window
from framework.dataplane.links._output cimport block_chars, block_drop, block_new
from framework.dataplane._state cimport (
    CONNECT_READ_BYTES, READ_BLOCK_BYTES, READ_ERROR, Block, Coder, Coding, Link, Stage, State,
)
from framework.dataplane._work cimport is_work_done

cdef enum:
    RAW_BYTES = 262144
    # Of input that are read at a time, unless a step needs more.
    LEFT_BYTES = 8192
    # What is left and not more than that is kept in a piece of memory of its length.
    INNER_BYTES = 65536
    # That one stage decodes for another at a time, as far as it has the choice.


# ---- raw bytes ---------------------------------------------------------------------------------------------------------


cdef bint _raw_grow(Coder* coder, Stage* stage, size_t room) noexcept nogil:
    cdef char* grown
    cdef size_t have = stage.raw_end
    if room == RAW_BYTES and coder.raw_spare != NULL and have <= RAW_BYTES:
        grown = coder.raw_spare
        coder.raw_spare = NULL
        if have:
            memcpy(grown, stage.raw, have)
        free(stage.raw)
    else:
        grown = <char*> realloc(stage.raw, room)
    if grown == NULL:
        return False
    stage.raw = grown
    stage.raw_room = room
    return True


cdef char* _raw_window(Coder* coder, Stage* stage, size_t wanted) noexcept nogil:
    """Return where the next raw bytes of a stage belong, behind those it has, with room for `wanted` in all; NULL: no memory."""
    if stage.raw_at:
        memmove(stage.raw, stage.raw + stage.raw_at, stage.raw_end - stage.raw_at)
        stage.raw_end -= stage.raw_at
        stage.raw_at = 0
    if stage.raw_room < wanted and not _raw_grow(coder, stage, wanted):
        return NULL
    return stage.raw + stage.raw_end


cdef void _raw_leave(Coder* coder, Stage* stage, size_t most) noexcept nogil:
    """Hold no memory for nothing, and as much as is left if that is not more than `most`."""
    cdef size_t left = stage.raw_end - stage.raw_at
    cdef char* kept = NULL
    if stage.raw == NULL or left > most or (left and stage.raw_room < RAW_BYTES):
        return
    if left:
        kept = <char*> malloc(left)
        if kept == NULL:
            return
        memcpy(kept, stage.raw + stage.raw_at, left)
    if stage.raw_room == RAW_BYTES and coder.raw_spare == NULL:
        coder.raw_spare = stage.raw
    else:
        free(stage.raw)
    stage.raw = kept
    stage.raw_at = 0
    stage.raw_end = stage.raw_room = left


cdef char* coded_window(State* state, Link* link, size_t* room) noexcept nogil:
    """Return where to put what a coded link sends next, and how much fits; NULL: no memory.

    There is room for the rest of the step that is incomplete. Sockets are read only where no whole one waits.
    """
    cdef Stage* stage = link.coding.outermost
    cdef size_t have = stage.raw_end - stage.raw_at
    cdef size_t wanted = max(<size_t> RAW_BYTES, stage.row.awaited(stage))
    cdef char* window
    if have >= wanted:
        wanted = have * 2
    window = _raw_window(&state.coder, stage, wanted)
    room[0] = stage.raw_room - have
    return window


cdef void coded_received(State* state, Link* link, size_t length) noexcept nogil:
    """Count the bytes that were put into the link's window."""
    link.coding.outermost.raw_end += length
    link.wire_in_bytes += length
    link.received_ns = state.now_ns


cdef void coded_rest(State* state, Link* link) noexcept nogil:
    """Let go of windows that nothing came for."""
    cdef Stage* stage = link.coding.innermost
    while stage != NULL:
        _raw_leave(&state.coder, stage, LEFT_BYTES)
        stage = stage.outer


cdef void coded_idle(State* state, Link* link) noexcept nogil:
    """Let go of all windows but for what is in them: nothing has come for a while."""
    cdef Stage* stage = link.coding.innermost
    while stage != NULL:
        _raw_leave(&state.coder, stage, RAW_BYTES // 2)
        stage = stage.outer


cdef bint _fill(State* state, Link* link, Stage* stage) noexcept nogil:
    """Let the stage outside of one decode more for it; False: there is nothing more, or the link is doomed."""
    cdef Stage* outer = stage.outer
    cdef int64_t length
    cdef char* window
    if outer == NULL:
        return False
    while not is_work_done(state):
        length = outer.row.next(state, link, outer, INNER_BYTES)
        if length < 0 or (length == 0 and not _fill(state, link, outer)):
            return False
        if length == 0:
            continue
        window = _raw_window(&state.coder, stage, stage.raw_end - stage.raw_at + length)
        if window == NULL:
            link_doom(state, link, READ_ERROR, False, "no memory")
            return False
        length = outer.row.decode(state, link, outer, window, length)
        if length < 0:
            return False
        stage.raw_end += length
        if length:
            return True
    return False


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


cdef inline size_t _room(Link* link) noexcept nogil:
    """Return how many plain bytes are best decoded at a time."""
    cdef size_t room
    if link.big == NULL:
        return READ_BLOCK_BYTES - link.left_length
    room = link.big_need - link.big_fill
    return min(room, <size_t> CONNECT_READ_BYTES) if link.lined else room


cdef int64_t _plain_next(State* state, Link* link, Stage* stage) noexcept nogil:
    """Return how many plain bytes the next step makes at most; 0: there is none, or the link is doomed."""
    cdef int64_t plain = 0
    while plain == 0:
        plain = stage.row.next(state, link, stage, _room(link))
        if plain == 0 and not _fill(state, link, stage):
            return 0
    return max(plain, <int64_t> 0)


cdef size_t _decode(State* state, Link* link) noexcept nogil:
    """Do the next step; return how many plain bytes of it are handled already. No block afterwards, and 0: there was no step."""
    cdef Coding* coding = link.coding
    cdef Stage* stage = coding.innermost
    cdef size_t room, kept = link.left_length
    cdef int64_t plain = _plain_next(state, link, stage)
    cdef Block* block
    if plain == 0:
        return 0
    if link.big != NULL and <size_t> plain <= link.big_need - link.big_fill:
        plain = stage.row.decode(state, link, stage, block_chars(link.big) + link.big_fill, plain)
        if plain > 0:
            link_received(state, link, plain)
        return max(plain, <int64_t> 1)
    block = _block_for(state, link, plain)
    if block == NULL:
        link_doom(state, link, READ_ERROR, False, "no memory")
        return 0
    plain = stage.row.decode(state, link, stage, block_chars(block) + kept, plain)
    if plain <= 0:
        block_drop(state, block)
        return 1
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


cdef void _block_shrink(State* state, Coding* coding) noexcept nogil:
    """Let a link that waits hold what is left of its block, and not the one that all links share."""
    cdef size_t left = coding.end - coding.at
    cdef size_t seen = coding.seen - coding.at
    cdef Block* own = NULL
    if left > coding.block.capacity // 2:
        return
    if left:
        own = block_new(left)
        if own == NULL:
            return
        memcpy(block_chars(own), coding.at, left)
    block_drop(state, coding.block)
    coding.block = own
    if own != NULL:
        coding.at = block_chars(own)
        coding.seen = coding.at + seen
        coding.end = coding.at + left


cdef void coded_go_on(State* state, Link* link, size_t budget) noexcept nogil:
    """Handle what a coded link has sent, about `budget` plain bytes of it; the rest waits for the next turn.

    A link that has more to do is woken, as is one that is resumed later.
    """
    cdef Coding* coding = link.coding
    cdef size_t part
    if link.big != NULL and link.big_fill >= link.big_need and not link.parked and not link.paused and not link.held:
        # It was held back as a whole; what else there is came behind it.
        link_received(state, link, 0)
    while (
        budget and not link.doomed and not link.parked and not link.paused and not link.held
        and link.first_fanout == NULL and not is_work_done(state)
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
    if link.doomed:
        return
    if coding.block != NULL:
        _block_shrink(state, coding)
    coded_rest(state, link)
    link_wake(state, link)
