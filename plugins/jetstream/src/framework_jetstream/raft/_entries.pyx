"""The log as Raft knows it: the terms of all entries that there are, and where the newest of them, the window, lie.

Those up to the snapshot, the tail, are there for peers alone, as long as the caller lets them.
Terms are kept as runs, for there is a new one only after an election. The window has all entries that are not committed, and as many
of the committed ones as settings allow; a peer that needs older ones fetches them. An entry's place in the sum of all lengths says how
many bytes lie between any two, so that what is on its way to a peer is counted without a list of it.
"""

from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc

from framework_jetstream.raft._state cimport RaftItem, RaftLog, RaftTerm

cdef enum:
    ITEMS_MIN = 16


cdef bint room_for(void** items, size_t* room, size_t count, size_t size) noexcept nogil:
    cdef size_t wanted
    cdef void* moved
    if count < room[0]:
        return True
    wanted = 2 * room[0] if room[0] else 4
    moved = realloc(items[0], wanted * size)
    if moved == NULL:
        return False
    items[0] = moved
    room[0] = wanted
    return True


cdef uint64_t log_term_at(const RaftLog* log, uint64_t index) noexcept nogil:
    """Return the term of an entry, or TERM_UNKNOWN: it is gone, or behind the end. Index 0 has term 0, everywhere."""
    cdef uint32_t at = log.term_count
    if index == log.tail_index:
        return log.tail_term
    if index < log.tail_index or index > log.last_index:
        return TERM_UNKNOWN
    while at and log.terms[at - 1].first_index > index:
        at -= 1
    return log.terms[at - 1].term if at else TERM_UNKNOWN


cdef uint64_t log_last_term(const RaftLog* log) noexcept nogil:
    return log_term_at(log, log.last_index)


cdef uint64_t log_last_not_after(const RaftLog* log, uint64_t index, uint64_t term) noexcept nogil:
    """Return the last index up to `index` whose term is not after `term`; that before the first entry if there is none."""
    cdef uint32_t at = log.term_count
    if index > log.last_index:
        index = log.last_index
    while at and (log.terms[at - 1].first_index > index or log.terms[at - 1].term > term):
        if log.terms[at - 1].first_index <= index:
            index = log.terms[at - 1].first_index - 1
        at -= 1
    return index


cdef uint64_t log_end_bytes(const RaftLog* log, uint64_t index) noexcept nogil:
    """Return the sum of lengths up to an entry; of one before the window, that up to the window."""
    if index < log.window_first:
        return log.window_base
    return log_item(log, index).end_bytes


cdef bint _resize(RaftLog* log, uint64_t size) noexcept nogil:
    cdef RaftItem* items = <RaftItem*> calloc(size, sizeof(RaftItem))
    cdef uint64_t index
    if items == NULL:
        return False
    for index in range(log.window_first, log.last_index + 1):
        items[index & (size - 1)] = log_item(log, index)[0]
    free(log.items)
    log.items = items
    log.item_mask = size - 1
    return True


cdef bint log_push(RaftLog* log, uint64_t term, uint16_t kind, const char* chars, uint32_t length) noexcept nogil:
    """Append an entry; False: no memory."""
    cdef uint64_t count = log.last_index + 1 - log.window_first
    cdef size_t room = log.term_room
    cdef RaftItem* item
    if log.items == NULL or count > log.item_mask:
        if not _resize(log, 2 * count if count else ITEMS_MIN):
            return False
    if term != log_last_term(log) or not log.term_count:
        if not room_for(<void**> &log.terms, &room, log.term_count, sizeof(RaftTerm)):
            return False
        log.term_room = <uint32_t> room
        log.terms[log.term_count].term = term
        log.terms[log.term_count].first_index = log.last_index + 1
        log.term_count += 1
    log.last_index += 1
    log.last_end += length
    item = log_item(log, log.last_index)
    item.chars = chars
    item.kind = kind
    item.end_bytes = log.last_end
    return True


cdef void log_cut_from(RaftLog* log, uint64_t index) noexcept nogil:
    """Forget entries from an index on; it is not before the window."""
    if index > log.last_index:
        return
    log.last_end = log_end_bytes(log, index - 1)
    log.last_index = index - 1
    while log.term_count and log.terms[log.term_count - 1].first_index >= index:
        log.term_count -= 1


cdef void log_compact(RaftLog* log, uint64_t index, uint64_t tail) noexcept nogil:
    """Let what entries up to an index have led to live elsewhere; those up to `tail` go."""
    if index <= log.snapshot_index:
        return
    log.snapshot_term = log_term_at(log, index)
    log.snapshot_index = index
    log_leave(log, tail)


cdef void log_leave(RaftLog* log, uint64_t index) noexcept nogil:
    """Let entries up to an index go, and none behind the snapshot."""
    cdef uint64_t term
    cdef uint32_t gone = 0
    cdef uint32_t at
    if index > log.snapshot_index:
        index = log.snapshot_index
    if index <= log.tail_index:
        return
    term = log_term_at(log, index)
    log.tail_index = index
    log.tail_term = term
    while gone + 1 < log.term_count and log.terms[gone + 1].first_index <= index + 1:
        gone += 1
    if index == log.last_index:
        gone = log.term_count
    for at in range(log.term_count - gone):
        log.terms[at] = log.terms[at + gone]
    log.term_count -= gone
    if log.term_count and log.terms[0].first_index <= index:
        log.terms[0].first_index = index + 1
    log_release(log, index + 1)


cdef void log_begin_at(RaftLog* log, uint64_t index, uint64_t term) noexcept nogil:
    """Forget everything: the log begins behind a snapshot."""
    log.snapshot_index = log.tail_index = log.last_index = index
    log.snapshot_term = log.tail_term = term
    log.term_count = 0
    log.window_first = index + 1
    log.window_base = log.last_end


cdef void log_release(RaftLog* log, uint64_t first_index) noexcept nogil:
    """Let the window begin at an index, at the earliest where it does; nobody refers to what is before it."""
    if first_index <= log.window_first:
        return
    if first_index > log.last_index + 1:
        first_index = log.last_index + 1
    log.window_base = log_end_bytes(log, first_index - 1)
    log.window_first = first_index


cdef void log_shrink(RaftLog* log) noexcept nogil:
    """Give memory back that the window does not need."""
    cdef uint64_t count = log.last_index + 1 - log.window_first
    cdef uint64_t size = ITEMS_MIN
    if count == 0:
        free(log.items)
        log.items = NULL
        log.item_mask = 0
        return
    while size < count:
        size *= 2
    if size <= log.item_mask:
        _resize(log, size)


cdef void log_drop(RaftLog* log) noexcept nogil:
    free(log.terms)
    free(log.items)
