"""Compression of links: begin, end, and encode output; `_decoding.pyx` has the other direction.

What waits for a coded link stays plain until it can be sent: a link that is slow gets more at a time, and better compressed. Each time it
becomes one stream, of a bounded length; nothing more is encoded before that is sent. All working memory is the plane's:
a link has memory of its own for nothing but what its socket did not take.

Source: nats-server `client.go`, `flushOutbound`, which makes each flush a stream of its own, too.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from framework.dataplane.links._output cimport block_chars, block_drop, block_new, block_take, segment_new
from framework.dataplane._state cimport Block, Coder, Coding, Link, Segment, State
from framework.sublist._bytes cimport COPY_SLACK
from framework.wire._s2 cimport (
    S2_BETTER, S2_FAST, S2_UNCOMPRESSED, S2Level, s2_bound, s2_chunk_length, s2_encode, s2_encoder_free, s2_encoder_new,
)

cdef enum:
    # Plain bytes of one stream, at most, by level: nobody else has a turn meanwhile, so the more thorough, the less. More would save
    # 1 % at `fast` and hold the loop for 4 ms; `best` in so small pieces is still better than `better`. Measured with JSON of 1 KiB.
    UNCOMPRESSED_BYTES = 1048576
    FAST_BYTES = 524288
    BETTER_BYTES = 131072
    BEST_BYTES = 32768


# ---- beginning and ending ----------------------------------------------------------------------------------------------


cdef bint _coder_make(Coder* coder) noexcept nogil:
    if coder.encoder == NULL:
        coder.encoder = s2_encoder_new()
    if coder.gathered == NULL:
        coder.gathered = <char*> malloc(UNCOMPRESSED_BYTES + COPY_SLACK)
    return coder.encoder != NULL and coder.gathered != NULL


cdef void coder_free(State* state) noexcept nogil:
    """Free what links shared for coding; none is left."""
    s2_encoder_free(state.coder.encoder)
    free(state.coder.gathered)
    free(state.coder.raw_spare)
    if state.coder.encoded != NULL:
        free(state.coder.encoded)


cdef bint coding_begin(State* state, Link* link, S2Level level) noexcept nogil:
    """Code a parked link from here on; of a coded one, the level changes. False: no memory.

    What waits for it goes out as it is. What it sent behind its greeting is coded already.
    """
    cdef Coding* coding = link.coding
    if coding != NULL:
        coding.level = level
        return True
    if not _coder_make(&state.coder):
        return False
    coding = <Coding*> calloc(1, sizeof(Coding))
    if coding == NULL:
        return False
    coding.level = level
    coding.coded = link.pending
    coding.raw = link.left
    coding.raw_end = coding.raw_room = link.left_length
    link.left = NULL
    link.left_length = 0
    if link.write_block != NULL:
        # What is said from now on must not become one segment with what was said before.
        block_drop(state, link.write_block)
        link.write_block = NULL
        link.write_at = link.write_end = NULL
    link.coding = coding
    return True


cdef void coding_end(State* state, Link* link) noexcept nogil:
    """Free what a link has for coding; its output is discarded already."""
    cdef Coding* coding = link.coding
    if coding == NULL:
        return
    if coding.block != NULL:
        block_drop(state, coding.block)
    free(coding.raw)
    free(coding)
    link.coding = NULL


# ---- input that waits --------------------------------------------------------------------------------------------------


cdef bint coding_waits(Link* link) noexcept nogil:
    """Whether there is something to do for a coded link without reading its socket: a whole chunk, or the rest of one."""
    cdef Coding* coding = link.coding
    cdef size_t have = coding.raw_end - coding.raw_at
    cdef int64_t length
    if coding.block != NULL:
        return True
    length = s2_chunk_length(coding.raw + coding.raw_at, have)
    return length < 0 or (length > 0 and <size_t> length <= have)


# ---- output ------------------------------------------------------------------------------------------------------------


cdef size_t _stream_bytes(S2Level level) noexcept nogil:
    if level == S2_UNCOMPRESSED:
        return UNCOMPRESSED_BYTES
    if level == S2_FAST:
        return FAST_BYTES
    return BETTER_BYTES if level == S2_BETTER else BEST_BYTES


cdef Segment** _plain_begin(Link* link) noexcept nogil:
    """Return where the first segment that is plain hangs."""
    cdef Segment** at = &link.output_head
    cdef size_t coded = link.coding.coded
    while coded:
        coded -= at[0].length
        at = &at[0].next
    return at


cdef char* _gathered(Coder* coder, Segment* segment, size_t length) noexcept nogil:
    """Return the first `length` bytes of segments in one piece."""
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


cdef bint coding_encode(State* state, Link* link) noexcept nogil:
    """Make one stream of what waits for a coded link, or a part of it, behind what is encoded already; False: no memory.

    It lies in the block that all links share: `coding_settle` has to follow when it was not sent at once.
    """
    cdef Coder* coder = &state.coder
    cdef Coding* coding = link.coding
    cdef size_t length = min(link.pending - coding.coded, _stream_bytes(coding.level))
    cdef size_t count
    cdef Segment** at
    cdef Segment* segment
    if length == 0:
        return True
    if coder.encoded == NULL or coder.encoded.users > 1:
        if coder.encoded != NULL:
            block_drop(state, coder.encoded)
        coder.encoded = block_new(s2_bound(UNCOMPRESSED_BYTES))
        if coder.encoded == NULL:
            return False
    at = _plain_begin(link)
    segment = segment_new(state, coder.encoded, block_chars(coder.encoded), 0)
    if segment == NULL:
        return False
    count = s2_encode(coder.encoder, coding.level, _gathered(coder, at[0], length), length, segment.chars)
    _drop(state, at, length)
    segment.length = count
    segment.next = at[0]
    at[0] = segment
    if segment.next == NULL:
        link.output_tail = segment
    coding.coded += count
    link.pending = link.pending - length + count
    link.sent_bytes += <int64_t> length - <int64_t> count
    # What is saved is as good as sent: the clocks count what waits.
    return True


cdef void coding_settle(State* state, Link* link) noexcept nogil:
    """Give what is left of a stream a block of its own; without memory it keeps the one of all links, and they get a new one."""
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
    """Encode all that waits for a link, if it is coded; False: no memory. Only for what is not sent by a socket."""
    while link.coding != NULL and link.coding.coded < link.pending:
        if not coding_encode(state, link):
            return False
        coding_settle(state, link)
    return True
