"""Stages of links: what their bytes pass between the socket and the parser. Begin, end, and encode output; `_decoding.pyx` has input.

A stage is a row of functions (`StageRow`): `_s2_stage.pyx` compresses, `_websocket.pyx` makes frames. They stand in a chain; the outermost
is next to the socket.

What waits for a coded link stays plain until it can be sent: a link that is slow gets more at a time, and better compressed. Each time it
becomes one piece, of a bounded length; nothing more is encoded before that is sent. All working memory is the plane's:
a link has memory of its own for little but what its socket did not take.
"""

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from framework.dataplane.links._deflate cimport deflate_free
from framework.dataplane.links._output cimport block_chars, block_drop, block_new, block_take, output_discard, segment_new
from framework.dataplane.links._s2_stage cimport s2_stage_row
from framework.dataplane.links._websocket cimport websocket_stage_row
from framework.dataplane._state cimport (
    S2_STAGE, WEBSOCKET_STAGE, Block, Coder, Coding, Link, Segment, Stage, State,
)
from framework.wire._s2 cimport s2_bound, s2_encoder_free


# ---- beginning and ending ----------------------------------------------------------------------------------------------


cdef void coder_rows(State* state) noexcept nogil:
    """Fill in the kinds of stages that there are."""
    s2_stage_row(&state.coder.rows[<int> S2_STAGE])
    websocket_stage_row(&state.coder.rows[<int> WEBSOCKET_STAGE])


cdef void coder_free(State* state) noexcept nogil:
    """Free what links shared for coding; none is left."""
    s2_encoder_free(state.coder.encoder)
    free(state.coder.gathered)
    free(state.coder.raw_spare)
    deflate_free(state.coder.deflate)
    if state.coder.encoded != NULL:
        free(state.coder.encoded)
    if state.coder.heads != NULL:
        free(state.coder.heads)


cdef bint _raw_take(Link* link, Coding* coding, Stage* stage) noexcept nogil:
    """Let a new innermost stage decode what has come already and nobody has looked at; False: no memory."""
    cdef size_t length
    if coding.block == NULL:
        stage.raw = link.left
        stage.raw_end = stage.raw_room = link.left_length
        link.left = NULL
        link.left_length = 0
        return True
    length = coding.end - coding.at
    stage.raw = <char*> malloc(length + 1)
    if stage.raw == NULL:
        return False
    memcpy(stage.raw, coding.at, length)
    stage.raw_end = length
    stage.raw_room = length + 1
    return True


cdef Stage* _stage_of(Link* link, const void* row) noexcept nogil:
    """Return the stage of a kind that a link has; NULL: none."""
    cdef Stage* stage = link.coding.innermost if link.coding != NULL else NULL
    while stage != NULL and stage.row != row:
        stage = stage.outer
    return stage


cdef bint coding_add(State* state, Link* link, int kind, uint32_t options) noexcept nogil:
    """Let all that a link is told from here on, and what it said that nobody has looked at, pass one more stage. False: no memory.

    It is the innermost. A stage that is there already goes on with other options. What waits goes out without it.
    """
    cdef Coding* coding = link.coding
    cdef Stage* stage = _stage_of(link, &state.coder.rows[kind])
    if stage != NULL:
        return stage.row.begin(state, stage, options)
    if coding == NULL:
        coding = <Coding*> calloc(1, sizeof(Coding))
        if coding == NULL:
            return False
        coding.coded = link.pending
        link.coding = coding
    elif not coding_flush(state, link):
        return False
    stage = <Stage*> calloc(1, sizeof(Stage))
    if stage == NULL:
        return False
    stage.row = &state.coder.rows[kind]
    stage.outer = coding.innermost
    coding.innermost = stage
    if coding.outermost == NULL:
        coding.outermost = stage
    if not stage.row.begin(state, stage, options) or not _raw_take(link, coding, stage):
        return False
    if coding.block != NULL:
        block_drop(state, coding.block)
        coding.block = NULL
    if link.write_block != NULL:
        # What is said from now on must not become one segment with what was said before.
        block_drop(state, link.write_block)
        link.write_block = NULL
        link.write_at = link.write_end = NULL
    return True


cdef void coding_end(State* state, Link* link) noexcept nogil:
    """Free what a link has for coding; its output is discarded already."""
    cdef Coding* coding = link.coding
    cdef Stage* stage
    if coding == NULL:
        return
    if coding.block != NULL:
        block_drop(state, coding.block)
    while coding.innermost != NULL:
        stage = coding.innermost
        coding.innermost = stage.outer
        stage.row.end(state, stage)
        free(stage.raw)
        free(stage)
    free(coding)
    link.coding = NULL


# ---- input that waits --------------------------------------------------------------------------------------------------


cdef bint coding_waits(Link* link) noexcept nogil:
    """Whether there is something to do for a coded link without reading its socket: something to decode, or the rest of what was."""
    cdef Coding* coding = link.coding
    cdef Stage* stage = coding.innermost
    if coding.block != NULL or (link.big != NULL and link.big_fill >= link.big_need):
        return True
    while stage != NULL:
        if stage.row.awaited(stage) == 0:
            return True
        stage = stage.outer
    return False


# ---- output ------------------------------------------------------------------------------------------------------------


cdef Segment** plain_begin(Link* link) noexcept nogil:
    """Return where the first segment that is plain hangs."""
    cdef Segment** at = &link.output_head
    cdef size_t coded = link.coding.coded
    while coded:
        coded -= at[0].length
        at = &at[0].next
    return at


cdef char* plain_gathered(Coder* coder, Segment* segment, size_t length) noexcept nogil:
    """Return the first `length` bytes of segments in one piece; a stage that calls it has seen to `coder.gathered`."""
    cdef char* into = coder.gathered
    cdef size_t part
    if segment.length >= length:
        return segment.chars
    while length:
        part = min(length, segment.length)
        memcpy(into, segment.chars, part)
        into += part
        length -= part
        segment = segment.next
    return coder.gathered


cdef char* encoded_room(State* state, size_t need) noexcept nogil:
    """Return room for what is encoded, in the block that all links share; NULL: no memory."""
    cdef Coder* coder = &state.coder
    if coder.encoded == NULL or coder.encoded.users > 1 or coder.encoded.capacity < need:
        if coder.encoded != NULL:
            block_drop(state, coder.encoded)
        coder.encoded = block_new(max(need, s2_bound(PIECE_BYTES)))
        if coder.encoded == NULL:
            return NULL
    return block_chars(coder.encoded)


cdef void _drop(State* state, Segment** at, size_t length) noexcept nogil:
    """Take the first `length` bytes out of a list of segments."""
    cdef Segment* head
    while length:
        head = at[0]
        if head.length > length:
            head.chars += length
            head.length -= length
            return
        length -= head.length
        at[0] = head.next
        block_drop(state, head.block)
        head.next = state.segments
        state.segments = head


cdef bint plain_replace(State* state, Link* link, Segment** at, size_t length, char* chars, size_t count) noexcept nogil:
    """Put `count` bytes of `encoded_room` in the place of the first `length` at `at`; False: no memory."""
    cdef Segment* segment = segment_new(state, state.coder.encoded, chars, count)
    if segment == NULL:
        return False
    _drop(state, at, length)
    segment.next = at[0]
    at[0] = segment
    if segment.next == NULL:
        link.output_tail = segment
    return True


cdef bint coding_encode(State* state, Link* link) noexcept nogil:
    """Make one piece of what waits for a coded link, or a part of it, behind what is encoded already; False: no memory.

    It may lie in the block that all links share: `coding_settle` has to follow when it was not sent at once.
    """
    cdef Coding* coding = link.coding
    cdef Stage* stage = coding.innermost
    cdef size_t length = min(link.pending - coding.coded, stage.row.encodes(stage))
    cdef int64_t count = length
    cdef Segment** at
    if length == 0:
        return True
    at = plain_begin(link)
    while stage != NULL:
        count = stage.row.encode(state, link, stage, at, count)
        if count < 0:
            return False
        stage = stage.outer
    coding.coded += count
    link.pending = link.pending - length + count
    link.sent_bytes += <int64_t> length - count
    # What is saved is as good as sent: the clocks count what waits.
    return True


cdef void coding_settle(State* state, Link* link) noexcept nogil:
    """Give what is left of a piece a block of its own; without memory it keeps the one of all links, and they get a new one."""
    cdef Segment* segment = link.output_head
    cdef Block* own
    cdef size_t coded = link.coding.coded
    while coded:
        if segment.block == state.coder.encoded:
            own = block_take(state, segment.length)
            if own == NULL:
                return
            memcpy(block_chars(own), segment.chars, segment.length)
            block_drop(state, segment.block)
            segment.block = own
            segment.chars = block_chars(own)
        coded -= segment.length
        segment = segment.next


cdef bint coding_flush(State* state, Link* link) noexcept nogil:
    """Encode all that waits for a link, if it is coded; False: no memory. Only for what is not sent by a socket, and for the end."""
    while link.coding != NULL and link.coding.coded < link.pending:
        if not coding_encode(state, link):
            return False
        coding_settle(state, link)
    return True


cdef void coding_farewell(State* state, Link* link) noexcept nogil:
    """Let the outermost stage of a link that ends say the last word, behind what is sent yet."""
    cdef Coding* coding = link.coding
    if coding == NULL or coding.outermost == NULL or coding.outermost.row.farewell == NULL:
        return
    if not link.last_words:
        if coding.coded:
            # The peer has some of it, and would take the last word for the rest.
            return
        output_discard(state, link)
    coding.outermost.row.farewell(state, link, coding.outermost)
