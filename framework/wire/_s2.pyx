"""S2 compression of streams: encode and decode.

A stream is an identifier chunk, then chunks of data; another identifier may follow anywhere and begins the next stream. A chunk is its kind
in one byte, the length of the rest in three, and the rest.

    ff        identifier: `S2sTwO`, or `sNaPpY` of a Snappy stream, which is read as well
    00        masked CRC-32C of the plain bytes, and a block (`_s2_decode.pyx`)
    01        masked CRC-32C, and the plain bytes as they are
    80 - fe   skipped: padding, and what others may have to say
    02 - 7f   refused

The C face takes no lock, keeps nothing but what it is given, and believes no length: a chunk is refused that holds, or claims to hold, more
than S2_PLAIN_MAX. `Decoder` and `encode` are its Python face, for tests and tools.

Source: Snappy's framing format; S2's stream format (4 MiB at most in a chunk).
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

from framework.wire._crc32c cimport crc32c, masked
from framework.wire._s2_bytes cimport load_24, load_32, store_24, store_32
from framework.wire._s2_decode cimport block_decode, block_length
from framework.wire._s2_best cimport encode_best
from framework.wire._s2_emit cimport EMIT_SLACK
from framework.wire._s2_encode cimport PLAIN_LEAST, encode_better, encode_fast
from framework.wire._s2_tables cimport S2Encoder, tables_free

from framework.errors import ProtocolError
from framework.wire.closed_state import ClosedState

cdef enum:
    KIND_BLOCK = 0x00
    KIND_PLAIN = 0x01
    KIND_SKIPPED = 0x80
    # And above.
    KIND_IDENTIFIER = 0xff
    HEAD_BYTES = 4
    # Kind and length.
    DATA_BYTES = 8
    # What stands before a block or plain bytes: the head, and the CRC.
    IDENTIFIER_BYTES = 10

cdef const char* IDENTIFIER = "\xff\x06\x00\x00S2sTwO"
cdef const char* IDENTIFIER_SNAPPY = "\xff\x06\x00\x00sNaPpY"


# ---- encoding ----------------------------------------------------------------------------------------------------------


cdef S2Encoder* s2_encoder_new() noexcept nogil:
    """Make the working memory of one encoder at a time; levels get theirs when they are used first. NULL: no memory."""
    cdef S2Encoder* encoder = <S2Encoder*> calloc(1, sizeof(S2Encoder))
    if encoder != NULL:
        encoder.base = 1
    return encoder


cdef void s2_encoder_free(S2Encoder* encoder) noexcept nogil:
    """Give the working memory back; NULL has none."""
    if encoder != NULL:
        tables_free(encoder)
        free(encoder)


cdef size_t s2_bound(size_t length) noexcept nogil:
    """The room that `s2_encode` needs for `length` plain bytes: the longest stream of them, and what is written past its end."""
    return IDENTIFIER_BYTES + (length + S2_BLOCK_BYTES - 1) // S2_BLOCK_BYTES * DATA_BYTES + length + EMIT_SLACK


cdef size_t s2_encode(S2Encoder* encoder, S2Level level, const char* plain, size_t length, char* into) noexcept nogil:
    """Write one whole stream of the plain bytes and return its length; without memory for a level, they are stored as they are."""
    cdef uint8_t* to = <uint8_t*> into + IDENTIFIER_BYTES
    cdef const uint8_t* at = <const uint8_t*> plain
    cdef size_t part
    memcpy(into, IDENTIFIER, IDENTIFIER_BYTES)
    while length:
        part = length if length < S2_BLOCK_BYTES else S2_BLOCK_BYTES
        to += _encode_chunk(encoder, level, at, part, to)
        at += part
        length -= part
    return to - <uint8_t*> into


cdef size_t _encode_chunk(S2Encoder* encoder, S2Level level, const uint8_t* plain, size_t length, uint8_t* to) noexcept nogil:
    """Write a chunk of at most S2_BLOCK_BYTES and return its length."""
    cdef uint8_t* data = to + DATA_BYTES
    cdef size_t head = _store_length(data, length), body
    store_32(to + HEAD_BYTES, masked(crc32c(0, plain, length)))
    if length < PLAIN_LEAST or level == S2_UNCOMPRESSED:
        body = 0
    elif level == S2_FAST:
        body = encode_fast(encoder, plain, length, data + head)
    elif level == S2_BETTER:
        body = encode_better(encoder, plain, length, data + head)
    else:
        body = encode_best(encoder, plain, length, data + head)
    to[0] = KIND_BLOCK
    body += head
    if body == head or body >= length:
        to[0] = KIND_PLAIN
        memcpy(data, plain, length)
        body = length
    store_24(to + 1, <uint32_t> body + HEAD_BYTES)
    return DATA_BYTES + body


cdef size_t _store_length(uint8_t* to, size_t length) noexcept nogil:
    """Write how many bytes a block has, seven bits a byte; returns how many that took."""
    cdef size_t at = 0
    while length > 127:
        to[at] = <uint8_t> (length | 128)
        length >>= 7
        at += 1
    to[at] = <uint8_t> length
    return at + 1


# ---- decoding ----------------------------------------------------------------------------------------------------------


cdef bint s2_is_identifier(const char* chunk, size_t length) noexcept nogil:
    """Whether a whole chunk begins a stream; the first chunk of a connection must."""
    if length != IDENTIFIER_BYTES:
        return False
    return memcmp(chunk, IDENTIFIER, IDENTIFIER_BYTES) == 0 or memcmp(chunk, IDENTIFIER_SNAPPY, IDENTIFIER_BYTES) == 0


cdef const char* s2_problem(const char* at, size_t length) noexcept nogil:
    """What makes `s2_chunk_length` or `s2_plain_length` say -1, for a log; NULL: nothing."""
    cdef const uint8_t* chunk = <const uint8_t*> at
    cdef uint32_t body
    cdef size_t head
    cdef int64_t plain
    if length and KIND_PLAIN < chunk[0] < KIND_SKIPPED:
        return "unknown kind of chunk"
    if length < HEAD_BYTES:
        return NULL
    body = load_24(chunk + 1)
    if body > S2_CHUNK_MAX - HEAD_BYTES:
        return "chunk too long"
    if chunk[0] == KIND_IDENTIFIER:
        if body != IDENTIFIER_BYTES - HEAD_BYTES or length >= IDENTIFIER_BYTES and not s2_is_identifier(at, IDENTIFIER_BYTES):
            return "bad stream identifier"
        return NULL
    if chunk[0] >= KIND_SKIPPED:
        return NULL
    if body < DATA_BYTES - HEAD_BYTES:
        return "chunk too short"
    if chunk[0] == KIND_PLAIN:
        if body - (DATA_BYTES - HEAD_BYTES) > S2_PLAIN_MAX:
            return "chunk too long"
        return NULL
    if length < HEAD_BYTES + body:
        return NULL
    plain = block_length(chunk + DATA_BYTES, body + HEAD_BYTES - DATA_BYTES, &head)
    if plain < 0:
        return "bad block length"
    if plain > S2_PLAIN_MAX:
        return "block too long"
    return NULL


cdef int64_t s2_chunk_length(const char* at, size_t length) noexcept nogil:
    """Bytes of the chunk that begins here, with its head, once four of them are there; 0: not yet; -1: it is refused.

    It is at most S2_CHUNK_MAX. What more there is to refuse, `s2_plain_length` and `s2_decode` find in the whole chunk.
    """
    if s2_problem(at, length if length < HEAD_BYTES else HEAD_BYTES) != NULL:
        return -1
    if length < HEAD_BYTES:
        return 0
    return HEAD_BYTES + <int64_t> load_24(<const uint8_t*> at + 1)


cdef int64_t s2_plain_length(const char* chunk, size_t length) noexcept nogil:
    """How many bytes a whole chunk says it has, at most S2_PLAIN_MAX; 0 where there are none, as in an identifier; -1: it is refused.

    Args:
        chunk: A whole chunk, as `s2_chunk_length` measured it.
        length: Of it.
    """
    cdef const uint8_t* at = <const uint8_t*> chunk
    cdef size_t head
    if length < HEAD_BYTES or s2_problem(chunk, length) != NULL:
        return -1
    if at[0] >= KIND_SKIPPED:
        return 0
    if at[0] == KIND_PLAIN:
        return length - DATA_BYTES
    return block_length(at + DATA_BYTES, length - DATA_BYTES, &head)


cdef const char* s2_decode(const char* chunk, size_t length, char* into) noexcept nogil:
    """Write the plain bytes of a whole chunk; NULL: they are right. Else what is wrong, and what was written is of no use.

    Args:
        chunk: A whole chunk, as `s2_chunk_length` measured it.
        length: Of it.
        into: Room for as many bytes as `s2_plain_length` says, 0 or more; no byte is written behind them.
    """
    cdef const uint8_t* at = <const uint8_t*> chunk
    cdef int64_t plain = s2_plain_length(chunk, length)
    cdef size_t head
    cdef const char* problem
    if plain < 0:
        problem = s2_problem(chunk, length)
        if problem == NULL:
            problem = "chunk too short"
        return problem
    if at[0] >= KIND_SKIPPED:
        return NULL
    if at[0] == KIND_PLAIN:
        memcpy(into, at + DATA_BYTES, plain)
    else:
        block_length(at + DATA_BYTES, length - DATA_BYTES, &head)
        problem = block_decode(at + DATA_BYTES + head, at + length, <uint8_t*> into, plain)
        if problem != NULL:
            return problem
    if masked(crc32c(0, into, plain)) != load_32(at + HEAD_BYTES):
        return "bad checksum"
    return NULL


cdef bint s2_decode_stream(const char* stream, size_t length, char* into, size_t plain_length) noexcept nogil:
    """Write the plain bytes of all chunks; False: they are not exactly `plain_length` right ones."""
    cdef const char* at = stream
    cdef const char* end = stream + length
    cdef int64_t chunk, plain
    while at < end:
        chunk = s2_chunk_length(at, end - at)
        if chunk <= 0 or chunk > end - at:
            return False
        plain = s2_plain_length(at, chunk)
        if plain < 0 or <uint64_t> plain > plain_length or (plain and s2_decode(at, chunk, into) != NULL):
            return False
        into += plain
        plain_length -= plain
        at += chunk
    return plain_length == 0


# ---- the Python face ---------------------------------------------------------------------------------------------------


@cython.final
cdef class Encoder:
    """Makes streams, each for itself; keeps its working memory from one to the next."""

    cdef S2Encoder* _encoder

    def __cinit__(self):
        self._encoder = s2_encoder_new()
        if self._encoder == NULL:
            raise MemoryError

    def __dealloc__(self):
        s2_encoder_free(self._encoder)

    def encode(self, bytes data not None, int level=S2_FAST):
        """Return one whole stream; `level`: 0 uncompressed, 1 fast, 2 better, 3 best."""
        cdef size_t length = len(data)
        cdef const char* plain = PyBytes_AS_STRING(data)
        cdef bytes stream = PyBytes_FromStringAndSize(NULL, s2_bound(length))
        cdef char* into = PyBytes_AS_STRING(stream)
        if not 0 <= level <= <int> S2_BEST:
            raise ValueError(f"no level: {level}")
        with nogil:
            length = s2_encode(self._encoder, <S2Level> level, plain, length, into)
        return stream[:length]


def encode(bytes data not None, int level=S2_FAST):
    """Return one whole stream of some bytes; see `Encoder.encode`."""
    return Encoder().encode(data, level)


@cython.final
cdef class Decoder:
    """Takes streams in any pieces and gives the plain bytes of each chunk as soon as it is whole."""

    cdef bytearray _left
    cdef bint _begun

    def __cinit__(self):
        self._left = bytearray()

    def feed(self, bytes data not None):
        """Return what is whole by now.

        Raises:
            ProtocolError: The stream is broken; the decoder is of no more use. What was whole before is lost.
        """
        cdef list parts = []
        cdef size_t taken = 0
        cdef int64_t length
        self._left += data
        while True:
            length = _checked(s2_chunk_length(<char*> self._left + taken, len(self._left) - taken), self._left, taken)
            if not 0 < length <= <int64_t> len(self._left) - <int64_t> taken:
                break
            parts.append(self._decode(taken, length))
            taken += length
        del self._left[:taken]
        return b"".join(parts)

    cdef bytes _decode(self, size_t taken, size_t length):
        cdef const char* chunk = <char*> self._left + taken
        cdef size_t plain_length = _checked(s2_plain_length(chunk, length), self._left, taken)
        cdef bytes plain = PyBytes_FromStringAndSize(NULL, plain_length)
        cdef char* into = PyBytes_AS_STRING(plain)
        cdef const char* problem
        self._begun = self._begun or s2_is_identifier(chunk, length)
        if not self._begun:
            raise _refusal(b"no stream identifier")
        with nogil:
            problem = s2_decode(chunk, length, into)
        if problem != NULL:
            raise _refusal(problem)
        return plain


cdef int64_t _checked(int64_t length, bytearray data, size_t at) except -1:
    if length < 0:
        raise _refusal(s2_problem(<char*> data + at, len(data) - at))
    return length


def _refusal(bytes problem):
    return ProtocolError(f"S2: {problem.decode()}", text="Read Error", reason=ClosedState.READ_ERROR)
