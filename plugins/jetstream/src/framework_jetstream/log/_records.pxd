"""Records that are made anywhere; see `_records.pyx`."""

from libc.stdint cimport uint16_t, uint32_t, uint64_t

from framework_jetstream.log._log cimport LogPart


cdef uint64_t record_length(const LogPart* parts, uint32_t count) noexcept nogil
cdef void record_fill(
    char* record, uint16_t kind, uint16_t flags, uint32_t group, uint64_t term, uint64_t index, const LogPart* parts, uint32_t count
) noexcept nogil
cdef bint record_is_of(const char* record, uint64_t length, uint16_t kind, uint64_t term, uint64_t index) noexcept nogil
