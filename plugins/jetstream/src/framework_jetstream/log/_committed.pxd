"""Entries that are durable, and files that are needed no more. All but `log_file_count` is for one thread."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from framework_jetstream.log._log cimport Log, LogEntry, LogFile, LogPlace
from framework_jetstream.log._record cimport RecordHead


cdef bint log_next_committed(Log* log, LogEntry* entry) noexcept nogil
# Look ahead, behind the entry that was given last: the next one of a group that was read, from `at` on, 0 at first; False: there is none.
cdef bint log_read_of(Log* log, uint32_t group, size_t* at, LogEntry* entry) noexcept nogil
# Whether a record that was read, `order` before it, is no entry any more.
cdef bint entry_is_void(Log* log, const RecordHead* head, uint64_t order) noexcept nogil
cdef void entry_of(LogEntry* entry, const char* record, uint64_t file, uint64_t offset) noexcept nogil
# Keep the file of an entry that was read, and its image, until each is let go of as often; False: there is no such file.
cdef bint log_hold(Log* log, const LogEntry* entry, LogPlace* place) noexcept nogil
cdef void log_let_go(Log* log, LogFile* file) noexcept nogil
# Hold the first file from a number on to which nothing is written any more, and of which no damage is known; NULL: there is none.
cdef LogFile* log_hold_sealed(Log* log, uint64_t number) noexcept nogil
# Let a file go that was found damaged: when it is needed no more it is put aside.
cdef void log_let_damaged_go(Log* log, LogFile* file) noexcept nogil
cdef void log_let_image_go(Log* log, LogFile* file) noexcept nogil
# Files before this one are needed no more: what lives of them is elsewhere, synced. Their memory is freed. False: some of them are held
# still, and stay with those behind them, or are read.
cdef bint log_trim(Log* log, uint64_t first_file) noexcept nogil
# Free the memory of files that nobody reads or writes any more: who took their entries has copied them.
cdef void log_forget(Log* log) noexcept nogil
# The first file with an entry that was not given yet, or the one that is written.
cdef uint64_t log_first_in_use(Log* log) noexcept nogil
# How many files there are that are needed.
cdef int64_t log_file_count(Log* log) noexcept nogil
