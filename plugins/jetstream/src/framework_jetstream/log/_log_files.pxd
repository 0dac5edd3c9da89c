"""Files of the log; see `_log_files.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.log._log cimport Log


cdef void log_begin(Log* log) noexcept nogil
cdef bint make_room(Log* log, uint64_t length) noexcept nogil
