"""What is appended to the log. Whatever is refused says why in `log.refused`."""

from libc.stdint cimport uint16_t, uint32_t, uint64_t

from framework_jetstream.log._log cimport Log, LogPart, LogPlace


# Open a group; its number, which was never given before, or 0: refused. `has_lost`: there may have been one here that is lost.
cdef uint32_t log_group_new(Log* log, const char* description, uint32_t length, bint has_lost) noexcept nogil
# Say anew what a group is; close one for good. False: refused.
cdef bint log_group_describe(Log* log, uint32_t group, const char* description, uint32_t length) noexcept nogil
cdef bint log_group_close(Log* log, uint32_t group) noexcept nogil
# Let nothing count that there is of a group, as some of it is lost; its description stays. False: refused.
cdef bint log_group_begin_anew(Log* log, uint32_t group) noexcept nogil
# Say anew what a group is, and, in the same record, what all of its entries have led to, in place of them. False: refused.
cdef bint log_group_become(
    Log* log, uint32_t group, const char* description, uint32_t length, const char* state, uint32_t state_length
) noexcept nogil
# Append an entry of `count` pieces of parts; its index, or 0: refused.
cdef uint64_t log_append(Log* log, uint32_t group, uint16_t kind, const LogPart* parts, uint32_t count) noexcept nogil
# Append an entry that was made elsewhere, with term, index and sums of its parts: copied as it is, but for its place and group.
# Its file is held (`_committed.pxd`). False: refused.
cdef bint log_append_record(Log* log, uint32_t group, const char* record, LogPlace* place) noexcept nogil
# Entries of the group up to `index`, which was of `term`, live elsewhere, synced; `state` is given back when the log is opened.
# `lacks`: something is missing in it, which others may have.
cdef bint log_snapshot(
    Log* log, uint32_t group, uint64_t index, uint64_t term, const char* state, uint32_t length, bint lacks
) noexcept nogil
# Entries from `first_index` on are void.
cdef bint log_cut(Log* log, uint32_t group, uint64_t first_index) noexcept nogil
cdef bint log_vote(Log* log, uint32_t group, uint64_t term, uint64_t vote, bint has_lost) noexcept nogil
