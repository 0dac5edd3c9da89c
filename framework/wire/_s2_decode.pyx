"""Decode one S2 block.

The two low bits of a tag say what follows. Numbers have their least significant byte first.

    00  literal: the upper six bits hold its length less 1; 60..63: that stands in the next 1..4 bytes
    01  copy: length 4..11 in bits 2-4, offset of 11 bits in bits 5-7 and the next byte
        offset 0 repeats the last offset: length 4..8 in bits 2-4; 5..7 there: the next 1..3 bytes and 8, 260 or 65540 more
    10  copy: length 1..64 in the upper six bits, offset in the next two bytes
    11  copy: the same, offset in the next four bytes

All bytes come from a peer: each length and offset is compared with what is there before a byte is read or written. Where much room is
left, copies go by whole words past their end; nothing is written outside of the plain bytes, or read outside of the block.

Source: Snappy's format description; S2's format extensions.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from framework.wire._s2_bytes cimport copy_8, copy_16, load_16, load_24, load_32

cdef enum:
    LENGTH_BYTES_MAX = 5
    # Of a number of 32 bits, seven a byte.
    WORD_SLACK = 16
    # What a copy by words writes past its end.
    LONG_LEAST = 192
    # Bytes of a copy that is made by ever longer parts.


cdef int64_t block_length(const uint8_t* block, size_t length, size_t* head) noexcept nogil:
    """How many plain bytes a block says it has, and the bytes of that number in `head`; -1: it is none."""
    cdef uint64_t value = 0
    cdef size_t at = 0
    while at < length and at < LENGTH_BYTES_MAX:
        value |= <uint64_t> (block[at] & 127) << 7 * at
        at += 1
        if block[at - 1] < 128:
            head[0] = at
            if value >> 32:
                return -1
            return <int64_t> value
    return -1


cdef inline size_t _tag_bytes(uint8_t tag) noexcept nogil:
    """How many bytes a tag has, with its numbers but without those of a long repeat."""
    cdef uint8_t kind = tag & 3
    if kind == 0:
        return 1 if tag < 240 else (tag >> 2) - 58
    return 1 + kind if kind < 3 else 5


cdef void _copy_long(uint8_t* to, size_t offset, size_t length) noexcept nogil:
    """Repeat what stands `offset` bytes before, which doubles with each part: to read what was just written, the processor waits."""
    while offset < length:
        memcpy(to, to - offset, offset)
        to += offset
        length -= offset
        offset += offset
    memcpy(to, to - offset, length)


cdef inline void _copy_back(uint8_t* to, size_t offset, size_t length, const uint8_t* end) noexcept nogil:
    """Repeat what stands `offset` bytes before; both are in bounds, and the two places may overlap."""
    cdef uint8_t* last = to + length
    if length >= LONG_LEAST:
        _copy_long(to, offset, length)
        return
    if <size_t> (end - to) < length + WORD_SLACK:
        while to < last:
            to[0] = (to - offset)[0]
            to += 1
        return
    while offset < 8:
        # What is there doubles, and so does the distance at which it repeats.
        copy_8(to, to - offset)
        to += offset
        offset += offset
    if offset < 16:
        while to < last:
            copy_8(to, to - offset)
            to += 8
        return
    while to < last:
        copy_16(to, to - offset)
        to += 16


cdef inline bint _copy_literal(uint8_t* to, const uint8_t* source, size_t length, size_t room, size_t left) noexcept nogil:
    """Copy bytes of the block itself; False: there is no room for them, or they are not there."""
    if length <= 16 and room >= 16 and left >= 16:
        copy_16(to, source)
        return True
    if length > room or length > left:
        return False
    memcpy(to, source, length)
    return True


cdef const char* block_decode(const uint8_t* at, const uint8_t* end, uint8_t* into, size_t length) noexcept nogil:
    """Write the plain bytes of a block, after the number that says how many; NULL, or what is wrong.

    Args:
        at: What follows the length.
        end: End of the block.
        into: Room for `length` bytes; what stands there after an error is of no use.
        length: What `block_length` told.
    """
    cdef const uint8_t* begin = into
    cdef const uint8_t* stop = into + length
    cdef size_t offset = 0, count, need
    cdef uint8_t tag
    while at < end:
        tag = at[0]
        need = _tag_bytes(tag)
        if <size_t> (end - at) < need:
            return "a tag is cut off"
        if tag & 3 == 0:
            count = (tag >> 2) + 1
            if need == 2:
                count = <size_t> at[1] + 1
            elif need == 3:
                count = <size_t> load_16(at + 1) + 1
            elif need == 4:
                count = <size_t> load_24(at + 1) + 1
            elif need == 5:
                count = <size_t> load_32(at + 1) + 1
            at += need
            if not _copy_literal(into, at, count, stop - into, end - at):
                return "a literal is too long"
            at += count
            into += count
            continue
        count = (tag >> 2) + 1
        if tag & 3 == 1:
            count = (tag >> 2 & 7) + 4
            if tag >> 5 or at[1]:
                offset = <size_t> (tag >> 5) << 8 | at[1]
            elif count > 8:
                need = count - 6
                if <size_t> (end - at) < need:
                    return "a tag is cut off"
                if count == 9:
                    count = <size_t> at[2] + 8
                elif count == 10:
                    count = <size_t> load_16(at + 2) + 260
                else:
                    count = <size_t> load_24(at + 2) + 65540
        elif tag & 3 == 2:
            offset = load_16(at + 1)
        else:
            offset = load_32(at + 1)
        at += need
        # An offset of 0, of a first repeat as well, is more than there is.
        if offset - 1 >= <size_t> (into - begin):
            return "an offset is out of range"
        if count > <size_t> (stop - into):
            return "a copy is too long"
        _copy_back(into, offset, count, stop)
        into += count
    if into != stop:
        return "a block is too short"
    return NULL
