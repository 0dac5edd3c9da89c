"""The groups of a log, by number; see `_log_groups.pyx`."""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.log._log cimport Log, LogGroup


cdef LogGroup* log_group(Log* log, uint32_t group) noexcept nogil
cdef LogGroup* group_make(Log* log, uint32_t group) noexcept nogil
cdef bint keep_text(char** kept, uint32_t* kept_bytes, const char* text, uint32_t length) noexcept nogil
# Entries of a group from an index on are void that were read so far; False: no memory.
cdef bint group_cut(Log* log, uint32_t group, uint64_t index) noexcept nogil
# Let nothing count that was read of a group; before anything is appended. False: no memory.
cdef bint group_begin_anew(Log* log, LogGroup* group) noexcept nogil
cdef bint group_take(LogGroup* group, const char* record) noexcept nogil
