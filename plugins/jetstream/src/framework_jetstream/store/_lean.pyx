"""Lean blocks: what stays in memory of messages whose bytes are in a segment.

Entries stay as they are, so everything but bytes is answered without the disk. Times would be gone with the bytes, and are asked for by age
and by where a consumer begins; they stay as runs: how many entries, and how much later than the run before, both as varints. Messages that
came in one entry of the log have one time, so a run is long where many are published, and about five bytes where one comes at a time.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from framework_jetstream.store._block cimport HAS_HEADER, Entry, block_entry, block_seq, body_bytes, entry_begin


# ---- times ---------------------------------------------------------------------------------------------------------------


cdef uint32_t _put_number(uint8_t* to, uint64_t value) noexcept nogil:
    """Write a varint; return its length. NULL: only that."""
    cdef uint32_t used = 1
    while value >= 128:
        if to != NULL:
            to[used - 1] = <uint8_t> (value & 127 | 128)
        value >>= 7
        used += 1
    if to != NULL:
        to[used - 1] = <uint8_t> value
    return used


cdef uint64_t _take_number(const uint8_t* chars, uint32_t* at) noexcept nogil:
    """Read a varint."""
    cdef uint64_t value = 0
    cdef int shift = 0
    while chars[at[0]] >= 128:
        value |= <uint64_t> (chars[at[0]] & 127) << shift
        shift += 7
        at[0] += 1
    value |= <uint64_t> chars[at[0]] << shift
    at[0] += 1
    return value


cdef uint32_t time_run_put(uint8_t* to, uint32_t used, uint32_t count, int64_t later_ns) noexcept nogil:
    """Write a run behind others; return how many bytes all have. NULL: only that."""
    cdef uint64_t folded = (<uint64_t> later_ns << 1) ^ <uint64_t> (later_ns >> 63)
    cdef uint32_t length = _put_number(to + used if to != NULL else NULL, count)
    return used + length + _put_number(to + used + length if to != NULL else NULL, folded)


cdef uint32_t time_run_take(const uint8_t* chars, uint32_t* at, int64_t* time_ns) noexcept nogil:
    """Read a run; return its count, and change the time of the run before to its own."""
    cdef uint32_t count = <uint32_t> _take_number(chars, at)
    cdef uint64_t folded = _take_number(chars, at)
    time_ns[0] += <int64_t> (folded >> 1) ^ -<int64_t> (folded & 1)
    return count


cdef uint32_t _write_times(Block* source, bint is_packed, uint8_t* to) noexcept nogil:
    """Write the times of messages that live as runs; return how many bytes they have. NULL: only that.

    Args:
        is_packed: The entries of others are left out.
    """
    cdef uint32_t index, at = 0, begin = 0, used = 0
    cdef int64_t time_ns, run_ns = 0, before_ns = 0
    cdef bint is_first = True
    for index in range(source.count):
        if block_entry(source, index).subject == 0:
            at += not is_packed
            continue
        time_ns = block_time(source, index)
        if is_first:
            run_ns = time_ns
            is_first = False
        elif time_ns != run_ns:
            used = time_run_put(to, used, at - begin, run_ns - before_ns)
            before_ns = run_ns
            run_ns = time_ns
            begin = at
        at += 1
    return used if is_first else time_run_put(to, used, at - begin, run_ns - before_ns)


cdef int64_t block_time(Block* block, uint32_t index) noexcept nogil:
    """Return the Unix time of a message. Cost: O(1) in order, else O(runs of the block)."""
    cdef int64_t found
    if block.data != NULL:
        memcpy(&found, block.data + entry_begin(block_entry(block, index)), sizeof(int64_t))
        return found
    if index < block.time_begin:
        block.time_begin = block.time_end = block.time_at = 0
        block.time_ns = 0
    while index >= block.time_end and block.time_at < block.time_bytes:
        block.time_begin = block.time_end
        block.time_end += time_run_take(block.times, &block.time_at, &block.time_ns)
    return block.time_ns


# ---- blocks --------------------------------------------------------------------------------------------------------------


cdef void _take_entries(Block* made, const Block* source) noexcept nogil:
    """Have the same entries in the same places."""
    memcpy(made.entries - source.count, source.entries - source.count, source.count * sizeof(Entry))
    if made.places != NULL:
        memcpy(made.places, source.places, source.count * sizeof(uint32_t))
    made.count = source.count
    made.used = source.used


cdef void _pack_entries(Block* made, const Block* source) noexcept nogil:
    """Have the entries of messages that live, as if their bytes followed each other."""
    cdef uint32_t index, length
    cdef Entry* entry
    cdef Entry* to
    for index in range(source.count):
        entry = block_entry(source, index)
        if entry.subject == 0:
            continue
        length = body_bytes(source, index)
        to = block_entry(made, made.count)
        to.offset = made.used | (entry.offset & <uint32_t> HAS_HEADER)
        to.subject = entry.subject
        made.places[made.count] = <uint32_t> (block_seq(source, index) - made.first_seq)
        if made.nexts != NULL and index < source.next_room:
            made.nexts[made.count] = source.nexts[index]
        made.used += length
        made.count += 1


cdef Block* block_leaned(Block* source, bint is_packed) noexcept nogil:
    """Return a block without bytes in the place of one; NULL: no memory, and nothing has changed.

    Args:
        source: Is the caller's to free; what it knows of next messages of subjects is taken from it.
        is_packed: Have no entries but those of messages that live; there is one.
    """
    cdef uint32_t count = source.live if is_packed else source.count
    cdef bint has_places = is_packed or source.places != NULL
    cdef uint32_t time_bytes = _write_times(source, is_packed, NULL)
    cdef size_t before = count * sizeof(Entry), places = count * sizeof(uint32_t) if has_places else 0
    cdef uint32_t* nexts = <uint32_t*> calloc(count, sizeof(uint32_t)) if is_packed and source.nexts != NULL else NULL
    cdef Block* made = <Block*> malloc(sizeof(Block) + before + places + time_bytes)
    if made == NULL or (is_packed and source.nexts != NULL and nexts == NULL):
        free(made)
        free(nexts)
        return NULL
    memset(made, 0, sizeof(Block))
    made.first_seq = source.first_seq
    made.live = source.live
    made.live_bytes = source.live_bytes
    made.is_lean = 1
    made.entries = <Entry*> (<char*> (made + 1) + before)
    made.places = <uint32_t*> made.entries if has_places else NULL
    made.times = <uint8_t*> made.entries + places
    made.time_bytes = time_bytes
    _write_times(source, is_packed, made.times)
    if is_packed:
        made.nexts = nexts
        made.next_room = count if nexts != NULL else 0
        _pack_entries(made, source)
    else:
        made.nexts = source.nexts
        made.next_room = source.next_room
        source.nexts = NULL
        source.next_room = 0
        _take_entries(made, source)
    return made
