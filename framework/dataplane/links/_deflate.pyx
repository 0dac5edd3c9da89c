"""Deflate by the zlib that Python itself uses, found when somebody asks for it: nothing to link, and no header to have.

The functions come as pointers (`framework.dataplane.zlib_functions`); streams are zlib's own structs, whose layout is fixed since 1.0.
All are raw deflate, and of one message: nothing is kept from one message to the next.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc, free

from framework.dataplane.links._deflate cimport Deflate, ZStream

cdef enum:
    RAW_WINDOW_BITS = -15
    SYNC_FLUSH = 2
    OK = 0
    STREAM_END = 1
    BUFFER_ERROR = -5
    BEST_SPEED = 1
    METHOD = 8
    MEMORY = 8
    TAIL_BYTES = 4
    # That end a flush, and are not sent. Source: RFC 7692 7.2.1.

cdef const char* VERSION = b"1.2.11"
# zlib looks at the first digit, and at the size of the struct.


cdef Deflate* deflate_new(void** functions) noexcept nogil:
    """Return what calls the eight functions, in the order of the struct; NULL: no memory."""
    cdef Deflate* deflate = <Deflate*> calloc(1, sizeof(Deflate))
    if deflate == NULL:
        return NULL
    deflate.inflate_init = <int (*)(ZStream*, int, const char*, int) noexcept nogil> functions[0]
    deflate.inflate = <int (*)(ZStream*, int) noexcept nogil> functions[1]
    deflate.inflate_reset = <int (*)(ZStream*) noexcept nogil> functions[2]
    deflate.inflate_end = <int (*)(ZStream*) noexcept nogil> functions[3]
    deflate.deflate_init = <int (*)(ZStream*, int, int, int, int, int, const char*, int) noexcept nogil> functions[4]
    deflate.deflate = <int (*)(ZStream*, int) noexcept nogil> functions[5]
    deflate.deflate_reset = <int (*)(ZStream*) noexcept nogil> functions[6]
    deflate.deflate_end = <int (*)(ZStream*) noexcept nogil> functions[7]
    return deflate


cdef void deflate_free(Deflate* deflate) noexcept nogil:
    """Free it with the streams that it has; none is lent any more."""
    if deflate == NULL:
        return
    if deflate.spare != NULL:
        deflate.inflate_end(deflate.spare)
        free(deflate.spare)
    if deflate.deflater != NULL:
        deflate.deflate_end(deflate.deflater)
        free(deflate.deflater)
    free(deflate)


cdef ZStream* inflater_take(Deflate* deflate) noexcept nogil:
    """Return a stream for one message; NULL: no memory."""
    cdef ZStream* stream = deflate.spare
    if stream != NULL:
        deflate.spare = NULL
        return stream
    stream = <ZStream*> calloc(1, sizeof(ZStream))
    if stream != NULL and deflate.inflate_init(stream, RAW_WINDOW_BITS, VERSION, sizeof(ZStream)) != OK:
        free(stream)
        return NULL
    return stream


cdef void inflater_give(Deflate* deflate, ZStream* stream) noexcept nogil:
    """Take a stream back: one is kept, with its memory, for who is next."""
    if deflate.spare == NULL and deflate.inflate_reset(stream) == OK:
        deflate.spare = stream
        return
    deflate.inflate_end(stream)
    free(stream)


cdef int64_t inflate_some(Deflate* deflate, ZStream* stream, const char** at, size_t count, char* into, size_t room) noexcept nogil:
    """Inflate as far as there is room; return how many bytes that are, negative: it is no deflate.

    Args:
        at: The first of `count` bytes; afterwards the first that was not taken.
    """
    cdef int code
    stream.next_in = <const uint8_t*> at[0]
    stream.avail_in = <unsigned int> count
    stream.next_out = <uint8_t*> into
    stream.avail_out = <unsigned int> room
    code = deflate.inflate(stream, SYNC_FLUSH)
    at[0] = <const char*> stream.next_in
    if code == STREAM_END:
        # A last block within a message: the next one begins anew. Source: RFC 7692 7.2.3.4.
        if deflate.inflate_reset(stream) != OK:
            return -1
    elif code != OK and code != BUFFER_ERROR:
        return -1
    return <int64_t> (room - stream.avail_out)


cdef int64_t deflate_all(Deflate* deflate, const char* plain, size_t length, char* into, size_t room) noexcept nogil:
    """Deflate one message without its tail; return its length, negative: there was no memory, or no room."""
    cdef ZStream* stream = deflate.deflater
    if stream == NULL:
        stream = <ZStream*> calloc(1, sizeof(ZStream))
        if stream == NULL:
            return -1
        if deflate.deflate_init(stream, BEST_SPEED, METHOD, RAW_WINDOW_BITS, MEMORY, 0, VERSION, sizeof(ZStream)) != OK:
            free(stream)
            return -1
        deflate.deflater = stream
    elif deflate.deflate_reset(stream) != OK:
        return -1
    stream.next_in = <const uint8_t*> plain
    stream.avail_in = <unsigned int> length
    stream.next_out = <uint8_t*> into
    stream.avail_out = <unsigned int> room
    if deflate.deflate(stream, SYNC_FLUSH) != OK or stream.avail_in or stream.avail_out == 0:
        return -1
    return <int64_t> (room - stream.avail_out) - TAIL_BYTES
