"""Encodes one S2 block, at the levels that a server may choose.

A table remembers where in the block some bytes stood last, by a hash of them; what stands there again becomes a copy. Positions are
counted from `base`, which goes up with each block: what is left from earlier blocks is below it and counts as nothing, so no block pays
for the clearing of a table, and a short block uses only the beginning of it.

A block that would not get smaller by a thirty-second is given up: its bytes are then sent as they are.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from framework.wire._s2_bytes cimport load_32, load_64, shared_length
from framework.wire._s2_emit cimport EMIT_SLACK, emit_copy, emit_literal, emit_repeat

cdef enum:
    FAST_BITS = 14
    # Of the hash: 64 KiB, which the caches next to a processor have.
    FEWEST_BITS = 8
    SAVED_PART = 32
    # One of so many bytes must be saved.
    SKIP_BITS = 6
    # So many bytes without a match, as a power of two, let one more be passed over.
    BASE_MAX = 0x80000000
    END_BYTES = 16
    # Where so few are left, no match begins: whole words may be read at every place before.


cdef inline uint32_t _hash_6(uint64_t bytes, int shift) noexcept nogil:
    return <uint32_t> ((bytes << 16) * <uint64_t> 0x9e3779b97f4a7c15 >> shift)


cdef int _bits(size_t length, int most) noexcept nogil:
    """How many bits of a hash a block of this length can use."""
    cdef int bits = FEWEST_BITS
    while bits < most and <size_t> 1 << bits < length:
        bits += 1
    return bits


cdef uint32_t _begin(S2Encoder* self, size_t length) noexcept nogil:
    """Take a range of positions for a block; returns the first."""
    cdef uint32_t base = self.base
    if base > BASE_MAX:
        base = 1
        if self.fast != NULL:
            memset(self.fast, 0, sizeof(uint32_t) << FAST_BITS)
    self.base = base + <uint32_t> length
    return base


cdef void encoder_clear(S2Encoder* self) noexcept nogil:
    """Give the memory back."""
    free(self.fast)
    self.fast = NULL


cdef bint encoder_prepare(S2Encoder* self, int level) noexcept nogil:
    """Have the memory that a level needs; False: there is none."""
    if self.fast == NULL:
        self.fast = <uint32_t*> calloc(<size_t> 1 << FAST_BITS, sizeof(uint32_t))
    return self.fast != NULL


cdef size_t _end(uint8_t* into, uint8_t* to, const uint8_t* stop, const uint8_t* source, size_t length) noexcept nogil:
    """End a block with the bytes that are left; returns its length, or 0 when it isn't worth it."""
    if <size_t> (stop - to) < length + EMIT_SLACK:
        return 0
    if length > END_BYTES:
        to = emit_literal(to, source, length)
    elif length:
        # Behind these nothing may be read.
        to[0] = <uint8_t> ((length - 1) << 2)
        memcpy(to + 1, source, length)
        to += 1 + length
    return to - into


cdef size_t encode_fast(S2Encoder* self, const uint8_t* plain, size_t length, uint8_t* into) noexcept nogil:
    """Encode a block: take the first match that is found, look less often the longer none is.

    Args:
        self: Working memory.
        plain: The bytes.
        length: How many, PLAIN_LEAST or more.
        into: Room for `length` bytes less a SAVED_PART.

    Returns:
        Bytes of the block behind its length; 0: it would not be worth it.
    """
    cdef int shift = 64 - _bits(length, FAST_BITS)
    cdef uint32_t* table = self.fast
    cdef uint32_t base = _begin(self, length), place, next_place, here
    cdef const uint8_t* end = plain + length
    cdef const uint8_t* last = end - END_BYTES
    cdef const uint8_t* literal = plain
    cdef const uint8_t* at = plain + 1
    cdef const uint8_t* back
    cdef const uint8_t* stop = into + length - length // SAVED_PART
    cdef uint8_t* to = into
    cdef size_t offset = 1, known = 0, count
    cdef uint64_t word
    cdef uint32_t* slot
    while at <= last:
        word = load_64(at)
        here = <uint32_t> (at - plain)
        slot = table + _hash_6(word, shift)
        place = slot[0] - base
        slot[0] = base + here
        slot = table + _hash_6(word >> 8, shift)
        next_place = slot[0] - base
        slot[0] = base + here + 1
        if load_32(at + 1 - offset) == <uint32_t> (word >> 8):
            at += 1
            back = at - offset
        elif place < here and load_32(plain + place) == <uint32_t> word:
            back = plain + place
        elif next_place < here and load_32(plain + next_place) == <uint32_t> (word >> 8):
            at += 1
            back = plain + next_place
        else:
            at += 2 + (<size_t> (at - literal) >> SKIP_BITS)
            continue
        count = 4 + shared_length(back + 4, at + 4, end)
        while at > literal and back > plain and (at - 1)[0] == (back - 1)[0]:
            at -= 1
            back -= 1
            count += 1
        if <size_t> (stop - to) < <size_t> (at - literal) + EMIT_SLACK:
            return 0
        if at > literal:
            to = emit_literal(to, literal, at - literal)
        offset = at - back
        to = emit_repeat(to, count) if offset == known else emit_copy(to, offset, count)
        known = offset
        at += count
        literal = at
        if at <= last:
            here = <uint32_t> (at - plain) - 2
            table[_hash_6(load_64(at - 2), shift)] = base + here
    return _end(into, to, stop, literal, end - literal)
