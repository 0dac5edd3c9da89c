"""Writing the elements of an S2 block: literals, copies and repeats.

The caller has seen that there is room for the bytes of a literal and EMIT_SLACK.
`_s2_decode.pyx` says how they look.
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

from framework.wire._s2_bytes cimport copy_16, store_16, store_24, store_32

cdef enum:
    EMIT_SLACK = 32
    # What one literal and one copy write beside the bytes of the literal, at most.


cdef inline uint8_t* emit_literal_head(uint8_t* to, size_t length) noexcept nogil:
    """Say that a literal of `length` bytes follows, more than 0."""
    cdef uint32_t less = <uint32_t> (length - 1)
    if less < 60:
        to[0] = <uint8_t> (less << 2)
        return to + 1
    if less < 256:
        to[0] = 60 << 2
        to[1] = <uint8_t> less
        return to + 2
    if less < 65536:
        to[0] = 61 << 2
        store_16(to + 1, less)
        return to + 3
    to[0] = 62 << 2
    store_24(to + 1, less)
    return to + 4


cdef inline uint8_t* emit_literal(uint8_t* to, const uint8_t* source, size_t length) noexcept nogil:
    """Write `length` bytes, more than 0; 16 may be read and written behind them."""
    to = emit_literal_head(to, length)
    copy_16(to, source)
    if length > 16:
        if length <= 32:
            copy_16(to + 16, source + 16)
        else:
            memcpy(to + 16, source + 16, length - 16)
    return to + length


cdef inline uint8_t* emit_repeat(uint8_t* to, size_t length) noexcept nogil:
    """Copy 4 bytes or more, less than 16 MiB, from the last offset."""
    to[1] = 0
    if length <= 8:
        to[0] = <uint8_t> (length - 4) << 2 | 1
        return to + 2
    if length < 264:
        to[0] = 5 << 2 | 1
        to[2] = <uint8_t> (length - 8)
        return to + 3
    if length < 65540:
        to[0] = 6 << 2 | 1
        store_16(to + 2, <uint32_t> (length - 260))
        return to + 4
    to[0] = 7 << 2 | 1
    store_24(to + 2, <uint32_t> (length - 65540))
    return to + 5


cdef inline uint8_t* emit_copy(uint8_t* to, size_t offset, size_t known, size_t length) noexcept nogil:
    """Copy 4 bytes or more, less than 16 MiB; what is too long for a copy goes on as a repeat.

    Args:
        to: Where.
        offset: From how far back.
        known: The last offset; 0: there was none.
        length: How much.
    """
    cdef size_t now
    if offset == known:
        return emit_repeat(to, length)
    if offset < 2048 and (length < 12 or length > 64):
        now = length if length < 12 else 11
        to[0] = <uint8_t> (offset >> 8 << 5 | (now - 4) << 2 | 1)
        to[1] = <uint8_t> offset
        to += 2
    else:
        # Which of the two forms it is can't be foreseen, so there is no branch to it.
        now = length if length <= 64 else 60
        to[0] = <uint8_t> ((now - 1) << 2 | 2 | <uint8_t> (offset >= 65536))
        store_32(to + 1, <uint32_t> offset)
        to += 3 + 2 * <size_t> (offset >= 65536)
    return emit_repeat(to, length - now) if now < length else to
