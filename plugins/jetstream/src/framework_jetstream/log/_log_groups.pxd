"""The groups of a log, by number; see `_log_groups.pyx`."""

from libc.stdint cimport uint32_t

from framework_jetstream.log._log cimport Log, LogGroup


cdef LogGroup* log_group(Log* log, uint32_t group) noexcept nogil
cdef LogGroup* group_make(Log* log, uint32_t group) noexcept nogil
cdef bint keep_text(char** kept, uint32_t* kept_bytes, const char* text, uint32_t length) noexcept nogil
cdef bint group_take(LogGroup* group, const char* record) noexcept nogil
