"""Encode one S2 block at level `fast` or `better`.

A table remembers where in the block some bytes stood last; what stands there again becomes a copy, and what is between copies a literal.
A block that would not get smaller by a thirty-second is given up: its bytes are then sent as they are.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from framework.wire._s2_bytes cimport load_32, load_64, shared_before, shared_length
from framework.wire._s2_emit cimport emit_copy, emit_literal, emit_literal_head
from framework.wire._s2_tables cimport (
    FAST_TABLE, LONG_TABLE, SHORT_TABLE, S2Encoder, hash_shift, positions_begin, table_slot, tables_prepare,
)

cdef enum:
    FAST_HASHED = 6
    LONG_HASHED = 8
    SHORT_HASHED = 5
    # Bytes that a table goes by.
    FAST_SKIP_BITS = 6
    BETTER_SKIP_BITS = 7
    # So many bytes without a copy, as a power of two, let one more be passed over.
    ENOUGH = 24
    # Bytes of a copy with which nothing better is looked for.
    FILL_STEP = 4
    # Of so many places in a copy, one goes into the tables.


cdef struct Copy:
    const uint8_t* back
    # Where the same bytes stand.
    size_t count
    size_t worth
    # Bytes that it saves, about.


cdef struct Search:
    # What a look into the two tables of `encode_better` needs.
    const uint8_t* plain
    const uint8_t* end
    uint32_t* long_table
    uint32_t* short_table
    uint32_t base
    int long_shift
    int short_shift


cdef size_t block_end(uint8_t* into, uint8_t* to, const uint8_t* stop, const uint8_t* source, size_t length) noexcept nogil:
    """End a block with the bytes that are left; returns its length, or 0 when it isn't worth it."""
    if to + length > stop:
        return 0
    if length:
        to = emit_literal_head(to, length)
        memcpy(to, source, length)
        to += length
    return to - into


cdef size_t encode_fast(S2Encoder* self, const uint8_t* plain, size_t length, uint8_t* into) noexcept nogil:
    """Encode a block: take the first copy that is found, look less often the longer none is.

    Args:
        self: Working memory.
        plain: The bytes.
        length: How many, PLAIN_LEAST or more, at most S2_BLOCK_BYTES.
        into: Room for `length` bytes and EMIT_SLACK.

    Returns:
        Bytes of the block behind its length; 0: it would not be worth it, or there is no memory.
    """
    if not tables_prepare(self, FAST_TABLE, FAST_TABLE):
        return 0
    cdef int shift = hash_shift(FAST_TABLE, length)
    cdef uint32_t* table = self.tables[FAST_TABLE]
    cdef uint32_t* slot
    cdef uint32_t base = positions_begin(self, length), place, next_place, here
    cdef const uint8_t* end = plain + length
    cdef const uint8_t* last = end - END_BYTES
    cdef const uint8_t* literal = plain
    cdef const uint8_t* at = plain + 1
    cdef const uint8_t* back
    cdef const uint8_t* stop = into + length - length // SAVED_PART
    cdef uint8_t* to = into
    cdef size_t offset = 1, known = 0, count
    cdef uint64_t word
    while at <= last:
        word = load_64(at)
        here = <uint32_t> (at - plain)
        slot = table_slot(table, word, FAST_HASHED, shift)
        # What the table does not know counts as the first byte: what is the same there is the same.
        place = slot[0] - base
        place = place if place < here else 0
        slot[0] = base + here
        slot = table_slot(table, word >> 8, FAST_HASHED, shift)
        next_place = slot[0] - base
        next_place = next_place if next_place < here else 0
        slot[0] = base + here + 1
        if load_32(plain + place) == <uint32_t> word:
            back = plain + place
        elif load_32(at + 1 - offset) == <uint32_t> (word >> 8):
            at += 1
            back = at - offset
        elif load_32(plain + next_place) == <uint32_t> (word >> 8):
            at += 1
            back = plain + next_place
        else:
            at += 2 + (<size_t> (at - literal) >> FAST_SKIP_BITS)
            continue
        count = shared_before(back, plain, at, literal)
        at -= count
        back -= count
        count += 4
        count += shared_length(back + count, at + count, end)
        if to + (at - literal) > stop:
            return 0
        if at > literal:
            to = emit_literal(to, literal, at - literal)
        offset = at - back
        to = emit_copy(to, offset, known, count)
        known = offset
        at += count
        literal = at
        if at <= last:
            table_slot(table, load_64(at - 2), FAST_HASHED, shift)[0] = base + <uint32_t> (at - plain) - 2
    return block_end(into, to, stop, literal, end - literal)


# ---- better ------------------------------------------------------------------------------------------------------------


cdef inline void _take(Copy* best, const uint8_t* back, const uint8_t* at, const uint8_t* end, size_t cost) noexcept nogil:
    """Let a copy of what stands at `back` be the best, if it is."""
    cdef size_t count
    if load_32(back) != load_32(at):
        return
    count = 4 + shared_length(back + 4, at + 4, end)
    if count > best.worth + cost:
        best.back = back
        best.count = count
        best.worth = count - cost


cdef inline void _look(Search* search, Copy* best, const uint8_t* at, size_t offset) noexcept nogil:
    """Find the best copy for a place, and put the place into the tables."""
    cdef uint64_t word = load_64(at)
    cdef uint32_t here = <uint32_t> (at - search.plain), place
    cdef uint32_t* slot = table_slot(search.long_table, word, LONG_HASHED, search.long_shift)
    place = slot[0] - search.base
    slot[0] = search.base + here
    if place < here:
        _take(best, search.plain + place, at, search.end, 3 if here - place < 65536 else 5)
    slot = table_slot(search.short_table, word, SHORT_HASHED, search.short_shift)
    place = slot[0] - search.base
    slot[0] = search.base + here
    if place < here:
        _take(best, search.plain + place, at, search.end, 3 if here - place < 65536 else 5)
    _take(best, at - offset, at, search.end, 2)


cdef inline void _fill(Search* search, const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Put places of a copy into the tables."""
    cdef uint64_t word
    cdef uint32_t here
    while at < end:
        word = load_64(at)
        here = search.base + <uint32_t> (at - search.plain)
        table_slot(search.long_table, word, LONG_HASHED, search.long_shift)[0] = here
        table_slot(search.short_table, word, SHORT_HASHED, search.short_shift)[0] = here
        at += FILL_STEP


cdef size_t encode_better(S2Encoder* self, const uint8_t* plain, size_t length, uint8_t* into) noexcept nogil:
    """Encode a block: take the best of three copies, and look whether the next place has a better one.

    Arguments and answer are those of `encode_fast`.
    """
    if not tables_prepare(self, LONG_TABLE, SHORT_TABLE):
        return 0
    cdef Search search
    cdef Copy best, next_best
    cdef const uint8_t* end = plain + length
    cdef const uint8_t* last = end - END_BYTES
    cdef const uint8_t* literal = plain
    cdef const uint8_t* at = plain + 1
    cdef const uint8_t* stop = into + length - length // SAVED_PART
    cdef uint8_t* to = into
    cdef size_t offset = 1, known = 0, more
    search.plain = plain
    search.end = end
    search.long_table = self.tables[LONG_TABLE]
    search.short_table = self.tables[SHORT_TABLE]
    search.long_shift = hash_shift(LONG_TABLE, length)
    search.short_shift = hash_shift(SHORT_TABLE, length)
    search.base = positions_begin(self, length)
    while at <= last:
        best.worth = 0
        _look(&search, &best, at, offset)
        if not best.worth:
            at += 1 + (<size_t> (at - literal) >> BETTER_SKIP_BITS)
            continue
        while best.count < ENOUGH and at < last:
            # To wait costs a byte.
            next_best.worth = best.worth + 1
            next_best.count = 0
            _look(&search, &next_best, at + 1, offset)
            if not next_best.count:
                break
            best = next_best
            at += 1
        more = shared_before(best.back, plain, at, literal)
        offset = at - best.back
        at -= more
        best.count += more
        if to + (at - literal) > stop:
            return 0
        if at > literal:
            to = emit_literal(to, literal, at - literal)
        to = emit_copy(to, offset, known, best.count)
        known = offset
        literal = at + best.count
        if literal <= last:
            _fill(&search, at + 2, literal)
        at = literal
    return block_end(into, to, stop, literal, end - literal)
