"""S2 as a stage: each piece of output is a stream of its own, and input is decoded chunk by chunk.

Source: nats-server `client.go`, `flushOutbound`, which makes each flush a stream of its own, too.
"""

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport malloc
from libc.string cimport memcpy, strlen

from framework.dataplane.delivery._delivery cimport link_doom
from framework.dataplane.links._coding cimport PIECE_BYTES, encoded_room, plain_gathered, plain_replace
from framework.dataplane._state cimport READ_ERROR, Coder, Link, Segment, Stage, StageRow, State
from framework.sublist._bytes cimport COPY_SLACK
from framework.wire._s2 cimport (
    S2_BETTER, S2_FAST, S2_UNCOMPRESSED, S2Level, s2_bound, s2_chunk_length, s2_decode, s2_encode, s2_encoder_new, s2_is_identifier,
    s2_plain_length, s2_problem,
)

cdef enum:
    # Plain bytes of one stream, at most, by level: nobody else has a turn meanwhile, so the more thorough, the less. More would save
    # 1 % at `fast` and hold the loop for 4 ms; `best` in so small pieces is still better than `better`. Measured with JSON of 1 KiB.
    FAST_BYTES = 524288
    BETTER_BYTES = 131072
    BEST_BYTES = 32768
    RAW_BYTES = 262144
    # Of coded input that are held, at most, unless one chunk is longer.
    WRONG_BYTES = 64


cdef void s2_stage_row(StageRow* row) noexcept nogil:
    """Fill in what S2 does as a stage."""
    row.begin = _begin
    row.end = _end
    row.awaited = _awaited
    row.next = _next
    row.decode = _decode
    row.encodes = _encodes
    row.encode = _encode
    row.farewell = NULL


cdef bint _begin(State* state, Stage* stage, uint32_t options) noexcept nogil:
    cdef Coder* coder = &state.coder
    stage.level = <S2Level> options
    if coder.encoder == NULL:
        coder.encoder = s2_encoder_new()
    if coder.gathered == NULL:
        coder.gathered = <char*> malloc(PIECE_BYTES + COPY_SLACK)
    return coder.encoder != NULL and coder.gathered != NULL


cdef void _end(State* state, Stage* stage) noexcept nogil:
    """It has nothing of its own."""


# ---- input -------------------------------------------------------------------------------------------------------------


cdef size_t _awaited(Stage* stage) noexcept nogil:
    cdef size_t have = stage.raw_end - stage.raw_at
    cdef int64_t length = s2_chunk_length(stage.raw + stage.raw_at, have)
    if length < 0 or (length > 0 and <size_t> length <= have):
        return 0
    # There is room for the rest of the chunk that is incomplete.
    return max(<size_t> max(length, <int64_t> RAW_BYTES), have + 1)


cdef int64_t _refuse(State* state, Link* link, const char* wrong) noexcept nogil:
    cdef char detail[WRONG_BYTES]
    cdef size_t length = min(strlen(wrong), <size_t> (WRONG_BYTES - 5))
    memcpy(detail, b"S2: ", 4)
    memcpy(detail + 4, wrong, length)
    detail[4 + length] = 0
    link_doom(state, link, READ_ERROR, False, detail)
    return -1


cdef int64_t _next(State* state, Link* link, Stage* stage, size_t room) noexcept nogil:
    """Take the next chunk with plain bytes; it has as many as it has."""
    cdef char* chunk
    cdef size_t have
    cdef int64_t found, inside
    while True:
        chunk = stage.raw + stage.raw_at
        have = stage.raw_end - stage.raw_at
        found = s2_chunk_length(chunk, have)
        inside = 0
        if 0 < found <= <int64_t> have:
            inside = s2_plain_length(chunk, found)
        if found < 0 or inside < 0:
            return _refuse(state, link, s2_problem(chunk, have))
        if found == 0 or found > <int64_t> have:
            return 0
        if not stage.identified and not s2_is_identifier(chunk, found):
            return _refuse(state, link, "no stream identifier")
        stage.identified = 1
        stage.step_at = stage.raw_at
        stage.step_length = found
        stage.raw_at += found
        if inside:
            return inside


cdef int64_t _decode(State* state, Link* link, Stage* stage, char* into, size_t length) noexcept nogil:
    cdef const char* wrong = s2_decode(stage.raw + stage.step_at, stage.step_length, into)
    if wrong != NULL:
        return _refuse(state, link, wrong)
    return length


# ---- output ------------------------------------------------------------------------------------------------------------


cdef size_t _encodes(Stage* stage) noexcept nogil:
    if stage.level == S2_UNCOMPRESSED:
        return PIECE_BYTES
    if stage.level == S2_FAST:
        return FAST_BYTES
    return BETTER_BYTES if stage.level == S2_BETTER else BEST_BYTES


cdef int64_t _encode(State* state, Link* link, Stage* stage, Segment** at, size_t length) noexcept nogil:
    """Make one stream."""
    cdef char* into = encoded_room(state, s2_bound(length))
    cdef size_t count
    if into == NULL:
        return -1
    count = s2_encode(state.coder.encoder, stage.level, plain_gathered(&state.coder, at[0], length), length, into)
    return count if plain_replace(state, link, at, length, into, count) else -1
