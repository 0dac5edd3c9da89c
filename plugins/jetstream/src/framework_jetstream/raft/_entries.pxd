"""The C face of the log as Raft knows it; see `_entries.pyx`."""

from libc.stdint cimport uint16_t, uint32_t, uint64_t

from framework_jetstream.raft._state cimport RaftItem, RaftLog, RaftSettings

cdef enum:
    TERM_UNKNOWN = 0  # no entry has term 0


# Make room for one more of `items`; False: no memory.
cdef bint room_for(void** items, size_t* room, size_t count, size_t size) noexcept nogil
cdef uint64_t log_term_at(const RaftLog* log, uint64_t index) noexcept nogil
cdef uint64_t log_last_term(const RaftLog* log) noexcept nogil
cdef uint64_t log_last_not_after(const RaftLog* log, uint64_t index, uint64_t term) noexcept nogil
cdef bint log_push(RaftLog* log, uint64_t term, uint16_t kind, const char* chars, uint32_t length) noexcept nogil
cdef void log_cut_from(RaftLog* log, uint64_t index) noexcept nogil
cdef void log_compact(RaftLog* log, uint64_t index, uint64_t tail) noexcept nogil
cdef void log_leave(RaftLog* log, uint64_t index) noexcept nogil
cdef void log_begin_at(RaftLog* log, uint64_t index, uint64_t term) noexcept nogil
cdef void log_release(RaftLog* log, uint64_t first_index) noexcept nogil
cdef void log_shrink(RaftLog* log) noexcept nogil
cdef void log_drop(RaftLog* log) noexcept nogil
cdef uint64_t log_end_bytes(const RaftLog* log, uint64_t index) noexcept nogil


cdef inline RaftItem* log_item(const RaftLog* log, uint64_t index) noexcept nogil:
    """Return an entry of the window."""
    return &log.items[index & log.item_mask]


cdef inline uint32_t log_length(const RaftLog* log, uint64_t index) noexcept nogil:
    """Return the length of an entry of the window, in bytes."""
    return <uint32_t> (log_item(log, index).end_bytes - log_end_bytes(log, index - 1))
