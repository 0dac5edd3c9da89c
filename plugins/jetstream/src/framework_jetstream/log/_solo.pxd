"""Who makes entries durable: `propose`, and hear by `committed`. See `_solo.pyx`."""

from libc.stdint cimport uint16_t, uint32_t, uint64_t

from framework_jetstream.log._log cimport Log, LogEntry, LogPart


cdef struct Committer:
    void* self
    uint64_t (*propose)(void* self, uint32_t group, uint16_t kind, const LogPart* parts, uint32_t count) noexcept nogil
    # Its index, or 0: it is refused now, `log.refused` says why.
    bint (*committed)(void* self, LogEntry* entry) noexcept nogil
    # The next entry that is durable wherever it has to be, in order; False: there is none yet.


cdef Committer solo_committer(Log* log) noexcept nogil
