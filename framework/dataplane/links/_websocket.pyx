"""WebSocket as a stage: frames around the protocol's bytes. Who has dialed masks them.

A message of the peer may have any number of protocol lines, or a part of one; payload is unmasked as it is copied for the parser, as far
as it has come, so that a frame of any length costs no memory. Of control frames and heads all must be there. Output gets a head for what is
sent at a time, and is not copied. Compressed messages (`_deflate.pyx`) are inflated as far as there is room, and each is bounded as a
NATS message is; before a login one must be a single small frame.

Pongs that wait are few: a peer that pings without end and takes nothing gets no more of them. Source: RFC 6455 5, RFC 7692 7.2;
nats-server `websocket.go`, `wsReadLoop`, `wsHandleControlFrame`, `wsEnqueueCloseMessage`.

Size: heads, control frames, payload and output judge the same few fields of one frame.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, strlen

from framework.dataplane.delivery._delivery cimport link_doom, random_next
from framework.dataplane.links._coding cimport (
    PIECE_BYTES, coding_flush, encoded_room, plain_begin, plain_gathered, plain_replace,
)
from framework.dataplane.links._deflate cimport deflate_all, inflate_some, inflater_give, inflater_take
from framework.dataplane.links._frames cimport CONTROL_BYTES, Frames
from framework.dataplane.links._output cimport block_chars, block_drop, block_new, block_take, output_mark, segment_new
from framework.dataplane._state cimport (
    CLIENT_CLOSED, OUTPUT_BLOCK_BYTES, READ_ERROR, WEBSOCKET_DEFLATE, WEBSOCKET_MASKS, WEBSOCKET_PLAIN_FRAMES, Block, CloseWords, Link,
    Segment, Stage, StageRow, State,
)
from framework.dataplane._work cimport BYTES_A_WORK, is_work_done
from framework.sublist._bytes cimport COPY_SLACK

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    static const char *const unknown_opcodes[16] = {
        0, 0, 0, "unknown opcode 3", "unknown opcode 4", "unknown opcode 5", "unknown opcode 6", "unknown opcode 7", 0, 0, 0,
        "unknown opcode 11", "unknown opcode 12", "unknown opcode 13", "unknown opcode 14", "unknown opcode 15",
    };
    /* Write `count` bytes with the mask taken off, which stands at byte `at` of its four; `to` may be `from`. */
    static void unmask(char *to, const char *from, size_t count, const uint8_t *mask, unsigned at) {
        uint8_t key[8];
        uint64_t wide, part;
        size_t which;
        for (which = 0; which < 8; which++) key[which] = mask[(at + which) & 3];
        memcpy(&wide, key, 8);
        while (count >= 8) {
            memcpy(&part, from, 8); part ^= wide; memcpy(to, &part, 8);
            to += 8; from += 8; count -= 8;
        }
        for (which = 0; which < count; which++) to[which] = from[which] ^ key[which];
    }
    """
    const char* unknown_opcodes[16]
    void unmask(char* to, const char* from_, size_t count, const uint8_t* mask, unsigned int at) noexcept nogil

cdef enum:
    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10
    FINAL_BIT = 0x80
    COMPRESSED_BIT = 0x40
    RESERVED_BITS = 0x30
    MASK_BIT = 0x80
    HEAD_BYTES = 14
    # At most, of a frame that we send.
    MASK_BYTES = 4
    FRAME_BYTES = 65535
    DEFLATED_BYTES = 32768
    # Plain bytes of a message that we compress, at most: some 0.3 ms.
    DEFLATE_FROM_BYTES = 64
    # Shorter ones are not compressed. Source: nats-server `websocket.go`, `wsCompressThreshold`.
    INFLATE_BYTES = 65536
    # At a time.
    EARLY_BYTES = 4096
    # Of a compressed message before the login, at most.
    PONGS_MAX = 16
    WRONG_BYTES = 128
    TAIL_BYTES = 4
    NORMAL_CLOSURE = 1000
    PROTOCOL_ERROR = 1002
    INVALID_PAYLOAD = 1007
    INTERNAL_ERROR = 1011
    FIRST_WORD_LIMIT = 64
    CORRUPT = 1
    TOO_LARGE = 2
    FRAME_WORK = 1
    PONG_WORK = 8

cdef const char* TAIL = b"\x00\x00\xff\xff"


cdef void websocket_stage_row(StageRow* row) noexcept nogil:
    """Fill in what WebSocket does as a stage."""
    row.begin = _begin
    row.end = _end
    row.awaited = _awaited
    row.next = _next
    row.decode = _decode
    row.encodes = _encodes
    row.encode = _encode
    row.farewell = _farewell


cdef bint _begin(State* state, Stage* stage, uint32_t options) noexcept nogil:
    if stage.frames == NULL:
        stage.frames = <Frames*> calloc(1, sizeof(Frames))
        if stage.frames == NULL:
            return False
    stage.frames.must_mask = options & WEBSOCKET_PLAIN_FRAMES == 0
    stage.frames.masks = options & WEBSOCKET_MASKS != 0
    stage.frames.deflates = options & WEBSOCKET_DEFLATE != 0 and state.coder.deflate != NULL
    if (stage.frames.deflates or stage.frames.masks) and state.coder.gathered == NULL:
        state.coder.gathered = <char*> malloc(PIECE_BYTES + COPY_SLACK)
        return state.coder.gathered != NULL
    return True


cdef void _end(State* state, Stage* stage) noexcept nogil:
    if stage.frames != NULL and stage.frames.inflater != NULL:
        inflater_give(state.coder.deflate, stage.frames.inflater)
    free(stage.frames)


# ---- heads of frames ---------------------------------------------------------------------------------------------------


cdef const char* _problem(Frames* frames, int first, int second) noexcept nogil:
    """Return what is wrong with the first two bytes of a frame; NULL: nothing."""
    cdef int opcode = first & 0x0F
    cdef bint compressed = first & COMPRESSED_BIT != 0
    if first & RESERVED_BITS:
        return "RSV2 and RSV3 must be clear"
    if compressed and not frames.deflates:
        return "compressed frame received without negotiated permessage-deflate"
    if frames.must_mask and not second & MASK_BIT:
        return "mask bit missing"
    if opcode >= CLOSE:
        if opcode > PONG:
            return unknown_opcodes[opcode]
        if second & 0x7F > CONTROL_BYTES:
            return "control frame length bigger than maximum allowed of 125 bytes"
        if not first & FINAL_BIT:
            return "control frame does not have final bit set"
        if compressed:
            return "control frame must not be compressed"
        return NULL
    if opcode > BINARY:
        return unknown_opcodes[opcode]
    if opcode == CONTINUATION and (compressed or not frames.in_message):
        return "invalid continuation frame"
    if opcode != CONTINUATION and frames.in_message:
        return "new message started before final frame for previous message was received"
    return NULL


cdef size_t _head_bytes(const uint8_t* head) noexcept nogil:
    """Return how long a head is, with all of a control frame; two bytes of it are there."""
    cdef size_t length = head[1] & 0x7F
    cdef size_t bytes = 2
    if length == 126:
        bytes += 2
    elif length == 127:
        bytes += 8
    if head[1] & MASK_BIT:
        bytes += 4
    return bytes + length if head[0] & 0x0F >= CLOSE else bytes


cdef size_t _awaited(Stage* stage) noexcept nogil:
    cdef Frames* frames = stage.frames
    cdef size_t have = stage.raw_end - stage.raw_at
    cdef const uint8_t* head = <const uint8_t*> stage.raw + stage.raw_at
    cdef size_t need
    if frames.more or frames.wrong:
        return 0
    if frames.left:
        need = frames.left if frames.whole else 1
    elif have < 2:
        need = 2
    elif _problem(frames, head[0], head[1]) != NULL:
        return 0
    else:
        need = _head_bytes(head)
    return need if have < need else 0


cdef int64_t _violate(State* state, Link* link, Stage* stage, const char* wrong) noexcept nogil:
    """End a link that broke the rules of frames, and tell it which."""
    cdef Frames* frames = stage.frames
    cdef char detail[WRONG_BYTES]
    cdef size_t length = min(strlen(wrong), <size_t> (CONTROL_BYTES - 2))
    _close_as(frames, PROTOCOL_ERROR, wrong, length)
    memcpy(detail, b"WebSocket: ", 11)
    length = min(length, <size_t> (WRONG_BYTES - 12))
    memcpy(detail + 11, wrong, length)
    detail[11 + length] = 0
    link_doom(state, link, READ_ERROR, True, detail)
    return -1


cdef void _close_as(Frames* frames, int status, const char* text, size_t length) noexcept nogil:
    """Remember what a close frame is to say."""
    frames.closes = 1
    frames.close[0] = <char> (status >> 8)
    frames.close[1] = <char> (status & 0xFF)
    memcpy(frames.close + 2, text, length)
    frames.close_length = <uint8_t> (length + 2)


cdef int64_t _head_take(State* state, Link* link, Stage* stage, bint quiet) noexcept nogil:
    """Take the head of a frame, or all of a control frame; return 1: it was there, 0: it is not, negative: the link is doomed.

    Args:
        quiet: Take nothing that ends the link.
    """
    cdef Frames* frames = stage.frames
    cdef size_t have = stage.raw_end - stage.raw_at
    cdef const uint8_t* head = <const uint8_t*> stage.raw + stage.raw_at
    cdef const char* wrong
    cdef size_t bytes, which
    cdef uint64_t length
    if have < 2:
        return 0
    wrong = _problem(frames, head[0], head[1])
    if wrong != NULL:
        return 0 if quiet else _violate(state, link, stage, wrong)
    bytes = _head_bytes(head)
    if have < bytes or (quiet and head[0] & 0x0F == CLOSE):
        return 0
    if quiet and head[0] & COMPRESSED_BIT and not link.registered and not frames.masks:
        # What comes before it may be the login.
        return 0
    state.work += FRAME_WORK
    length = head[1] & 0x7F
    if head[0] & 0x0F >= CLOSE:
        stage.raw_at += bytes
        return _control(state, link, stage, head, bytes, length)
    which = 2
    if length >= 126:
        which = 4 if length == 126 else 10
        length = 0
        for at in range(2, which):
            length = length << 8 | head[at]
    if length >> 63:
        return 0 if quiet else _violate(state, link, stage, "invalid 64-bit payload length")
    if head[0] & 0x0F != CONTINUATION:
        frames.compressed = head[0] & COMPRESSED_BIT != 0
        frames.message_plain = 0
        frames.tail = 0
    frames.final = head[0] & FINAL_BIT != 0
    frames.in_message = not frames.final or length > 0 or frames.compressed
    frames.left = length
    frames.is_masked = head[1] & MASK_BIT != 0
    frames.mask_at = 0
    if frames.is_masked:
        memcpy(frames.mask, head + which, 4)
    # What a server sends that was dialed here has no such bound: it may tell all its interest at one go.
    frames.whole = frames.compressed and not link.registered and not frames.masks
    stage.raw_at += bytes
    return 1


# ---- control frames ----------------------------------------------------------------------------------------------------


cdef int64_t _control(State* state, Link* link, Stage* stage, const uint8_t* frame, size_t bytes, size_t length) noexcept nogil:
    """Do what a control frame says; as `_head_take`."""
    cdef char payload[CONTROL_BYTES]
    cdef const char* at = <const char*> frame + bytes - length
    if frame[1] & MASK_BIT:
        unmask(payload, at, length, <const uint8_t*> at - 4, 0)
    else:
        memcpy(payload, at, length)
    if frame[0] & 0x0F == PING:
        state.work += PONG_WORK
        _pong(state, link, stage.frames, payload, length)
    elif frame[0] & 0x0F == CLOSE:
        return _closed(state, link, stage, payload, length)
    return 1


cdef inline void _mask_new(State* state, char* mask) noexcept nogil:
    """Draw the four bytes that a frame is masked with: they hide nothing, and stop nobody but those who can't see what they mask."""
    cdef uint32_t drawn = <uint32_t> random_next(state)
    memcpy(mask, &drawn, MASK_BYTES)


cdef bint _control_put(State* state, Link* link, Frames* frames, int opcode, const char* payload, size_t length) noexcept nogil:
    """Let a control frame go out behind what is encoded; False: no memory."""
    cdef Segment** at = plain_begin(link)
    cdef size_t head = 2 + (MASK_BYTES if frames.masks else 0)
    cdef Block* block = block_new(length + head)
    cdef Segment* segment
    cdef char* chars
    if block == NULL:
        return False
    chars = block_chars(block)
    chars[0] = <char> (FINAL_BIT | opcode)
    chars[1] = <char> (length | (MASK_BIT if frames.masks else 0))
    memcpy(chars + head, payload, length)
    if frames.masks:
        _mask_new(state, chars + 2)
        unmask(chars + head, chars + head, length, <const uint8_t*> chars + 2, 0)
    length += head - 2
    segment = segment_new(state, block, chars, length + 2)
    block_drop(state, block)
    if segment == NULL:
        return False
    segment.next = at[0]
    at[0] = segment
    if segment.next == NULL:
        link.output_tail = segment
    link.coding.coded += length + 2
    output_mark(state, link, length + 2)
    return True


cdef void _pong(State* state, Link* link, Frames* frames, const char* payload, size_t length) noexcept nogil:
    """Answer a PING, unless too many answers wait. Source: RFC 6455 5.5.3, which wants one for the latest only."""
    if link.wire_out_bytes >= frames.pongs_until:
        frames.pongs = 0
    elif frames.pongs >= PONGS_MAX:
        return
    if _control_put(state, link, frames, PONG, payload, length):
        frames.pongs += 1
        frames.pongs_until = link.wire_out_bytes + link.coding.coded


cdef bint _is_status(int status) noexcept nogil:
    """Whether a peer may say so why it closes. Source: RFC 6455 7.4."""
    return 1000 <= status <= 1014 and status not in (1004, 1005, 1006) or 3000 <= status <= 4999


cdef bint _is_utf8(const uint8_t* at, size_t length) noexcept nogil:
    cdef size_t which = 0, more
    cdef uint32_t code, least
    while which < length:
        code = at[which]
        which += 1
        if code < 0x80:
            continue
        if code & 0xE0 == 0xC0:
            more, least, code = 1, 0x80, code & 0x1F
        elif code & 0xF0 == 0xE0:
            more, least, code = 2, 0x800, code & 0x0F
        elif code & 0xF8 == 0xF0:
            more, least, code = 3, 0x10000, code & 0x07
        else:
            return False
        if length - which < more:
            return False
        while more:
            if at[which] & 0xC0 != 0x80:
                return False
            code = code << 6 | (at[which] & 0x3F)
            which += 1
            more -= 1
        if code < least or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            return False
    return True


cdef int64_t _closed(State* state, Link* link, Stage* stage, const char* payload, size_t length) noexcept nogil:
    """End a link whose peer closes it, with an answer that says the same."""
    cdef Frames* frames = stage.frames
    cdef char wrong[48]
    cdef int status
    if length == 1:
        return _violate(state, link, stage, "close frame payload cannot be 1 byte")
    frames.closes = 1
    frames.close_length = 0
    if length:
        status = (<uint8_t> payload[0]) << 8 | <uint8_t> payload[1]
        if not _is_status(status):
            snprintf(wrong, sizeof(wrong), "invalid close status code %d", status)
            return _violate(state, link, stage, wrong)
        if _is_utf8(<const uint8_t*> payload + 2, length - 2):
            _close_as(frames, status, payload + 2, length - 2)
        else:
            _close_as(frames, INVALID_PAYLOAD, "invalid utf8 body in close frame", 32)
    link_doom(state, link, CLIENT_CLOSED, True, NULL)
    return -1


cdef void _farewell(State* state, Link* link, Stage* stage) noexcept nogil:
    """Say why the link ends, behind what waits; not compressed any more, since that takes time."""
    cdef Frames* frames = stage.frames
    cdef CloseWords* words
    frames.deflates = 0
    if not coding_flush(state, link):
        return
    if not frames.closes:
        words = &state.coder.close_words[link.reason if link.reason < FIRST_WORD_LIMIT else 0]
        _close_as(frames, words.status if words.status else INTERNAL_ERROR, words.text, strlen(words.text))
    if _control_put(state, link, frames, CLOSE, frames.close, frames.close_length):
        link.last_words = 1


# ---- input -------------------------------------------------------------------------------------------------------------


cdef int64_t _next(State* state, Link* link, Stage* stage, size_t room) noexcept nogil:
    """Take heads and control frames until there is payload."""
    cdef Frames* frames = stage.frames
    cdef size_t have
    cdef int64_t taken
    while True:
        have = stage.raw_end - stage.raw_at
        if frames.wrong:
            return _violate(
                state, link, stage, "corrupt compressed message" if frames.wrong == CORRUPT else "maximum payload exceeded"
            )
        if frames.in_message and frames.compressed and (frames.left or frames.final):
            if frames.whole and (not frames.final or frames.left > EARLY_BYTES):
                return _violate(state, link, stage, "compressed message too large before login")
            if frames.left and not frames.more and (have == 0 or (frames.whole and have < frames.left)):
                return 0
            return min(room, <size_t> INFLATE_BYTES)
        if frames.left:
            return min(have, room)
        if is_work_done(state):
            return 0
        taken = _head_take(state, link, stage, False)
        if taken <= 0:
            return taken


cdef int64_t _decode(State* state, Link* link, Stage* stage, char* into, size_t length) noexcept nogil:
    """Unmask the payload of frames, one behind the other."""
    cdef Frames* frames = stage.frames
    cdef size_t count = 0, part
    if frames.compressed:
        return _inflate(state, link, stage, into, length)
    while True:
        part = min(<size_t> min(frames.left, <uint64_t> (length - count)), stage.raw_end - stage.raw_at)
        if frames.is_masked:
            unmask(into + count, stage.raw + stage.raw_at, part, frames.mask, frames.mask_at)
            frames.mask_at = (frames.mask_at + part) & 3
        else:
            memcpy(into + count, stage.raw + stage.raw_at, part)
        stage.raw_at += part
        frames.left -= part
        count += part
        if frames.left or count == length:
            break
        if frames.final:
            frames.in_message = 0
        if is_work_done(state) or _head_take(state, link, stage, True) <= 0 or frames.compressed:
            break
    if frames.left == 0 and frames.final and not frames.compressed:
        frames.in_message = 0
    return count


cdef int64_t _inflate(State* state, Link* link, Stage* stage, char* into, size_t length) noexcept nogil:
    """Inflate what has come of a compressed message, as far as there is room."""
    cdef Frames* frames = stage.frames
    cdef char* raw = stage.raw + stage.raw_at
    cdef const char* at = raw
    cdef size_t part = <size_t> min(frames.left, <uint64_t> (stage.raw_end - stage.raw_at))
    cdef int64_t made, more
    if frames.inflater == NULL:
        # Not before: until its first bytes are there, a message costs no memory.
        frames.inflater = inflater_take(state.coder.deflate)
        if frames.inflater == NULL:
            link_doom(state, link, READ_ERROR, False, "no memory")
            return -1
    if frames.is_masked and frames.bare < part:
        unmask(raw + frames.bare, raw + frames.bare, part - frames.bare, frames.mask, frames.mask_at)
        frames.mask_at = (frames.mask_at + part - frames.bare) & 3
    frames.bare = part
    made = inflate_some(state.coder.deflate, frames.inflater, &at, part, into, length)
    if made < 0:
        frames.wrong = CORRUPT
        made = length - frames.inflater.avail_out
    part = at - raw
    stage.raw_at += part
    frames.left -= part
    frames.bare -= part
    if frames.left == 0 and frames.final and <size_t> made < length and not frames.wrong:
        at = TAIL + frames.tail
        more = inflate_some(state.coder.deflate, frames.inflater, &at, TAIL_BYTES - frames.tail, into + made, length - made)
        if more < 0:
            frames.wrong = CORRUPT
            more = length - made - frames.inflater.avail_out
        frames.tail = <uint8_t> (at - TAIL)
        made += more
    frames.more = <size_t> made == length
    frames.message_plain += made
    state.work += part // BYTES_A_WORK + 1
    if frames.message_plain > state.limits.max_payload:
        # What came before is handled, however it came.
        frames.wrong = TOO_LARGE
        return made - (frames.message_plain - state.limits.max_payload)
    if frames.left == 0 and frames.final and not frames.more and frames.tail == TAIL_BYTES:
        frames.in_message = frames.compressed = 0
        inflater_give(state.coder.deflate, frames.inflater)
        frames.inflater = NULL
    return made


# ---- output ------------------------------------------------------------------------------------------------------------


cdef size_t _encodes(Stage* stage) noexcept nogil:
    return DEFLATED_BYTES if stage.frames.deflates else FRAME_BYTES


cdef bint _cut(State* state, Link* link, Segment** at, size_t length) noexcept nogil:
    """Let a segment end `length` bytes behind `at`, and nothing more be written to it; False: no memory."""
    cdef Segment* segment = at[0]
    cdef Segment* rest
    while segment.length < length:
        length -= segment.length
        segment = segment.next
    if segment.length > length:
        rest = segment_new(state, segment.block, segment.chars + length, segment.length - length)
        if rest == NULL:
            return False
        rest.next = segment.next
        segment.next = rest
        segment.length = length
        if rest.next == NULL:
            link.output_tail = rest
    elif segment.next == NULL and link.write_at != link.write_end:
        # A gap: what follows would lengthen it.
        link.write_at += 1
    return True


cdef Segment* _head_new(State* state, const char* head, size_t bytes) noexcept nogil:
    """Return a segment with the head of a frame; NULL: no memory."""
    cdef char* into
    if state.coder.heads != NULL and state.coder.heads.users == 1:
        state.coder.heads_at = 0
    if state.coder.heads == NULL or state.coder.heads_at + HEAD_BYTES > OUTPUT_BLOCK_BYTES:
        if state.coder.heads != NULL:
            block_drop(state, state.coder.heads)
        state.coder.heads = block_take(state, OUTPUT_BLOCK_BYTES)
        state.coder.heads_at = 0
        if state.coder.heads == NULL:
            return NULL
    into = block_chars(state.coder.heads) + state.coder.heads_at
    memcpy(into, head, bytes)
    state.coder.heads_at += bytes
    return segment_new(state, state.coder.heads, into, bytes)


cdef size_t _head_put(Frames* frames, char* head, bint compressed, size_t length) noexcept nogil:
    """Write the head of a frame, without its mask; return how long it is."""
    cdef int masked = MASK_BIT if frames.masks else 0
    cdef int at
    head[0] = <char> (FINAL_BIT | BINARY | (COMPRESSED_BIT if compressed else 0))
    if length <= CONTROL_BYTES:
        head[1] = <char> (length | masked)
        return 2
    if length <= FRAME_BYTES:
        head[1] = <char> (126 | masked)
        head[2] = <char> (length >> 8)
        head[3] = <char> (length & 0xFF)
        return 4
    # A piece that another stage has made.
    head[1] = <char> (127 | masked)
    for at in range(8):
        head[2 + at] = <char> (<uint64_t> length >> (56 - 8 * at))
    return 10


cdef bint _mask(State* state, Link* link, Segment** at, size_t length, const uint8_t* mask) noexcept nogil:
    """Put a mask on what no other stage has encoded; False: no memory."""
    cdef char* into = encoded_room(state, length)
    if into == NULL:
        return False
    unmask(into, plain_gathered(&state.coder, at[0], length), length, mask, 0)
    return plain_replace(state, link, at, length, into, length)


cdef int64_t _encode(State* state, Link* link, Stage* stage, Segment** at, size_t length) noexcept nogil:
    """Make one frame, a message of its own."""
    cdef Frames* frames = stage.frames
    cdef bint compressed = frames.deflates and length >= DEFLATE_FROM_BYTES
    cdef char head[HEAD_BYTES]
    cdef char mask[MASK_BYTES]
    cdef size_t bytes
    cdef char* into
    cdef int64_t count
    cdef Segment* segment
    if frames.masks:
        _mask_new(state, mask)
    if compressed:
        into = encoded_room(state, 2 * length + 1024)
        if into == NULL:
            return -1
        count = deflate_all(state.coder.deflate, plain_gathered(&state.coder, at[0], length), length, into, 2 * length + 1024)
        if count < 0 or not plain_replace(state, link, at, length, into, count):
            return -1
        length = count
    if frames.masks and (compressed or stage != link.coding.innermost):
        # It lies in one piece that nobody else has.
        unmask(at[0].chars, at[0].chars, length, <const uint8_t*> mask, 0)
    elif frames.masks:
        if not _mask(state, link, at, length, <const uint8_t*> mask):
            return -1
    elif not compressed and not _cut(state, link, at, length):
        return -1
    bytes = _head_put(frames, head, compressed, length)
    if frames.masks:
        memcpy(head + bytes, mask, MASK_BYTES)
        bytes += MASK_BYTES
    segment = _head_new(state, head, bytes)
    if segment == NULL:
        return -1
    segment.next = at[0]
    at[0] = segment
    return length + bytes
