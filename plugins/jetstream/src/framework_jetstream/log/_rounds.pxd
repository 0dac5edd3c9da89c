"""Rounds: what one write has; see `_rounds.pyx`."""

from libc.stdint cimport uint16_t, uint32_t, uint64_t

from framework_jetstream.log._log cimport Log, LogFile, LogGroup, LogPart, LogRound


cdef LogRound* round_new(Log* log, LogFile* file) noexcept nogil
cdef bint round_add(LogRound* it, char* source, uint64_t length) noexcept nogil
cdef bint round_begin(Log* log, uint32_t lead) noexcept nogil
cdef void round_close(Log* log) noexcept nogil
cdef uint64_t synced_round(const Log* log) noexcept nogil
cdef void round_sign(Log* log, LogRound* it) noexcept nogil
cdef bint record_write(
    Log* log, uint16_t kind, uint16_t flags, uint32_t group, uint64_t term, uint64_t index, const LogPart* parts, uint32_t count
) noexcept nogil
cdef char* record_copy(Log* log, uint32_t group, const char* source) noexcept nogil
cdef bint group_write(Log* log, LogGroup* group, uint16_t flags) noexcept nogil
