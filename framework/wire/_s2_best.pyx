"""Encode one S2 block at level `best`: the cheapest known sequence of copies.

From each place, a literal byte, a repeat of the last offset and copies of each length lead to later ones; each place keeps the cheapest
way to it, its cost being bytes of the block. At the end of a stretch the way is written, and the next stretch goes on from there. A copy
that is very long is taken at once, so that the work stays in proportion to the bytes.

The last offset on the way belongs to what a place remembers, but not to what makes ways differ, so a dearer way that would have paid off
later by a repeat is lost.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport malloc
from libc.string cimport memset

from framework.wire._s2_bytes cimport load_32, load_64, shared_length
from framework.wire._s2_emit cimport emit_copy, emit_literal
from framework.wire._s2_encode cimport END_BYTES, SAVED_PART, block_end
from framework.wire._s2_tables cimport CHAINS, HEADS, NEAR_TABLE, S2Encoder, Step, hash_shift, positions_begin, table_slot, tables_prepare

cdef enum:
    STRETCH = 16384
    # Places that are looked at together.
    CHAIN_LENGTH = 8
    # Earlier places with the same bytes that are tried.
    HEADS_HASHED = 6
    NEAR_HASHED = 4
    SHORTER = 4
    # So many lengths of a copy are tried.
    LONG_COPY = 128
    # This is taken at once.
    REMEMBERED = 64
    # Places at its end that go into the tables.
    FAR = 65536


cdef struct Output:
    uint8_t* to
    const uint8_t* stop
    const uint8_t* literal
    # What isn't written yet begins here.
    uint32_t known
    # The last offset that was written; 0: none.


cdef struct Search:
    const uint8_t* plain
    const uint8_t* end
    uint32_t* heads
    uint32_t* chains
    uint32_t* near
    uint32_t base
    int heads_shift
    int near_shift
    Step* steps
    size_t longest
    # The longest copy from the place that was last looked at.
    uint32_t longest_offset


cdef inline uint32_t _repeat_cost(size_t count) noexcept nogil:
    if count <= 8:
        return 2
    return 3 if count < 264 else 4


cdef inline uint32_t _copy_cost(size_t offset, size_t count) noexcept nogil:
    cdef uint32_t cost = 3 if offset < FAR else 5
    if offset < 2048 and count < 12:
        return 2
    return cost if count <= 64 else cost + _repeat_cost(count - 60)


cdef inline void _arrive(Step* step, uint32_t cost, size_t count, size_t offset, uint32_t run) noexcept nogil:
    """Come to a place; it remembers the way if it is the cheapest."""
    if cost < step.cost:
        step.cost = cost
        step.count = <uint32_t> count
        step.offset = <uint32_t> offset
        step.run = run


cdef inline void _copy(Step* here, size_t offset, size_t count, bint repeats) noexcept nogil:
    """Come to the place behind a copy."""
    _arrive(here + count, here.cost + (_repeat_cost(count) if repeats else _copy_cost(offset, count)), count, offset, 0)


cdef inline void _copies(Search* search, Step* here, size_t offset, size_t count, size_t room, bint repeats) noexcept nogil:
    """Come by a copy of `count` bytes to the place behind it, and by some shorter ones.

    They are so much shorter that the next copy has its four bytes, or as long as costs least. Others don't help: what the next copy would
    do earlier, this one does.
    """
    cdef size_t most = count if count < room else room, now
    if count > search.longest:
        search.longest = count
        search.longest_offset = <uint32_t> offset
    for now in range(SHORTER):
        if most - now < 4:
            return
        _copy(here, offset, most - now, repeats)
    now = 8 if repeats else 11 if offset < 2048 else 64
    if now < most - SHORTER:
        _copy(here, offset, now, repeats)


cdef inline void _try(Search* search, Step* here, const uint8_t* at, uint32_t place, size_t room) noexcept nogil:
    """Come by copies from one earlier place, if they are longer than what was found before."""
    cdef const uint8_t* back = search.plain + place
    cdef size_t count, before = search.longest
    if load_32(back) != load_32(at) or at + before < search.end and back[before] != at[before]:
        return
    count = 4 + shared_length(back + 4, at + 4, search.end)
    if count > before:
        _copies(search, here, at - back, count, room, False)


cdef inline void _remember(Search* search, const uint8_t* at) noexcept nogil:
    """Put a place into the tables."""
    cdef uint64_t word = load_64(at)
    cdef uint32_t here = <uint32_t> (at - search.plain)
    cdef uint32_t* slot = table_slot(search.heads, word, HEADS_HASHED, search.heads_shift)
    search.chains[here] = slot[0]
    slot[0] = search.base + here
    table_slot(search.near, word, NEAR_HASHED, search.near_shift)[0] = search.base + here


cdef void _remember_end(Search* search, const uint8_t* at) noexcept nogil:
    """Put the last places before `at` into the tables; of a very long copy, these will do."""
    cdef const uint8_t* last = search.end - END_BYTES
    cdef int back
    for back in range(REMEMBERED, 0, -1):
        if at - back <= last:
            _remember(search, at - back)


cdef void _look(Search* search, Step* here, const uint8_t* at, size_t room) noexcept nogil:
    """Come from a place to all that copies lead to; nearer places are tried first, since what is near may cost less."""
    cdef uint64_t word = load_64(at)
    cdef uint32_t now = <uint32_t> (at - search.plain), place
    cdef int left = CHAIN_LENGTH
    cdef size_t count
    search.longest = 3
    if here.offset and load_32(at - here.offset) == <uint32_t> word:
        count = 4 + shared_length(at - here.offset + 4, at + 4, search.end)
        _copies(search, here, here.offset, count, room, True)
        if count < LONG_COPY:
            search.longest = 3
    place = table_slot(search.near, word, NEAR_HASHED, search.near_shift)[0] - search.base
    if place < now:
        _try(search, here, at, place, room)
    place = table_slot(search.heads, word, HEADS_HASHED, search.heads_shift)[0] - search.base
    while place < now and left and search.longest < LONG_COPY:
        _try(search, here, at, place, room)
        place = search.chains[place] - search.base
        left -= 1
    _remember(search, at)


cdef size_t _stretch(Search* search, const uint8_t* at, size_t room, uint32_t known, uint32_t run) noexcept nogil:
    """Find the cheapest way through a stretch, and how far it was looked: to its end, or to a very long copy.

    Args:
        search: Where `steps` are written, and the long copy.
        at: Its beginning.
        room: Its bytes.
        known: Offset of the copy before, 0 if there was none.
        run: Bytes of the literal before that isn't written yet.
    """
    cdef Step* step = search.steps
    cdef size_t here = 0
    memset(step, 255, (room + 1) * sizeof(Step))
    step.cost = 0
    step.offset = known
    step.run = run
    step.count = 0
    while here < room:
        # A literal of 61 bytes has a number of one byte, of 257 bytes one of two, of 65537 one of three.
        run = step.run
        _arrive(step + 1, step.cost + 1 + (run == 0 or run == 60 or run == 256 or run == 65536), 0, step.offset, run + 1)
        search.longest = 0
        if search.end - at >= END_BYTES:
            _look(search, step, at, room - here)
            if search.longest >= LONG_COPY:
                break
        at += 1
        step += 1
        here += 1
    return here


cdef void _turn_round(Step* steps, size_t end) noexcept nogil:
    """Turn the way to a place round: `cost` of each place on it becomes the next one."""
    cdef size_t before
    while end:
        before = end - (steps[end].count if steps[end].count else 1)
        steps[before].cost = <uint32_t> end
        end = before


cdef bint _write_copy(Output* out, const uint8_t* at, uint32_t offset, size_t count) noexcept nogil:
    """Write a copy, and the literal before it; False: the block would not be worth it."""
    if out.to + (at - out.literal) > out.stop:
        return False
    if at > out.literal:
        out.to = emit_literal(out.to, out.literal, at - out.literal)
    out.to = emit_copy(out.to, offset, out.known, count)
    out.known = offset
    out.literal = at + count
    return True


cdef bint _write_way(Output* out, Step* steps, const uint8_t* at, size_t end) noexcept nogil:
    """Write the copies on the way to the end of a stretch."""
    cdef size_t here = 0
    _turn_round(steps, end)
    while here < end:
        here = steps[here].cost
        if steps[here].count and not _write_copy(out, at + here - steps[here].count, steps[here].offset, steps[here].count):
            return False
    return True


cdef void _search_begin(Search* search, S2Encoder* self, const uint8_t* plain, size_t length) noexcept nogil:
    search.plain = plain
    search.end = plain + length
    search.heads = self.tables[HEADS]
    search.chains = self.tables[CHAINS]
    search.near = self.tables[NEAR_TABLE]
    search.heads_shift = hash_shift(HEADS, length)
    search.near_shift = hash_shift(NEAR_TABLE, length)
    search.base = positions_begin(self, length)
    search.steps = self.steps
    search.longest = search.longest_offset = 0


cdef size_t encode_best(S2Encoder* self, const uint8_t* plain, size_t length, uint8_t* into) noexcept nogil:
    """Encode a block; arguments and answer are those of `encode_fast`."""
    if self.steps == NULL:
        self.steps = <Step*> malloc((STRETCH + 1) * sizeof(Step))
    if self.steps == NULL or not tables_prepare(self, HEADS, NEAR_TABLE):
        return 0
    cdef Search search
    cdef Output out
    cdef const uint8_t* end = plain + length
    cdef const uint8_t* at = plain
    cdef size_t room
    _search_begin(&search, self, plain, length)
    out.to = into
    out.stop = into + length - length // SAVED_PART
    out.literal = plain
    out.known = 0
    while at < end:
        room = end - at if end - at < STRETCH else STRETCH
        room = _stretch(&search, at, room, out.known, <uint32_t> (at - out.literal))
        if not _write_way(&out, self.steps, at, room):
            return 0
        at += room
        if search.longest >= LONG_COPY:
            if not _write_copy(&out, at, search.longest_offset, search.longest):
                return 0
            at += search.longest
            _remember_end(&search, at)
    return block_end(into, out.to, out.stop, out.literal, end - out.literal)
