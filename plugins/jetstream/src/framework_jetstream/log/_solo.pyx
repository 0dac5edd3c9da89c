"""A group of one server: an entry is committed when it is synced here."""

from libc.stdint cimport uint16_t, uint32_t, uint64_t

from framework_jetstream.log._appending cimport log_append
from framework_jetstream.log._committed cimport log_next_committed


cdef uint64_t _propose(void* self, uint32_t group, uint16_t kind, const LogPart* parts, uint32_t count) noexcept nogil:
    return log_append(<Log*> self, group, kind, parts, count)


cdef bint _committed(void* self, LogEntry* entry) noexcept nogil:
    return log_next_committed(<Log*> self, entry)


cdef Committer solo_committer(Log* log) noexcept nogil:
    """Return what commits the entries of all groups whose only voter is this server."""
    cdef Committer made
    made.self = log
    made.propose = _propose
    made.committed = _committed
    return made
