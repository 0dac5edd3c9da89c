"""The log of a replica; see `_replica_log.pyx`."""

from libc.stdint cimport uint16_t, uint32_t, uint64_t

from framework_jetstream.log._log cimport Log, LogEntry, LogPart
from framework_jetstream.raft._state cimport RaftEntry, RaftMembers, RaftReady
from framework_jetstream.replication._replicas cimport EntryBytes, Placed, Replica, Replicas


cdef inline Placed* placed_at(const Replica* replica, uint64_t index) noexcept nogil:
    """Return an entry behind the snapshot."""
    return &replica.placed[index & replica.placed_mask]


cdef EntryBytes* bytes_new(Replicas* replicas, size_t length) noexcept nogil
cdef void bytes_let_go(Replicas* replicas, EntryBytes* bytes) noexcept nogil
cdef char* bytes_chars(EntryBytes* bytes) noexcept nogil
cdef EntryBytes* staged_new(
    Replicas* replicas, uint16_t kind, uint64_t term, uint64_t index, const LogPart* parts, uint32_t count
) noexcept nogil
cdef void entry_of_record(const char* record, RaftEntry* entry) noexcept nogil
cdef bint log_has_alone(Log* log, uint32_t number, uint64_t server) noexcept nogil
cdef bint log_misses(Log* log, uint32_t number) noexcept nogil
cdef bint entry_is_honest(const Replicas* replicas, const RaftEntry* entry, uint64_t index) noexcept nogil
cdef bint restore(Replicas* replicas, Replica* replica, const LogEntry* entry) noexcept nogil
cdef void wish(Replica* replica, const RaftReady* ready) noexcept nogil
cdef bint write_wanted(Replicas* replicas, Replica* replica) noexcept nogil
cdef bint snapshot_keep(
    Replicas* replicas, Replica* replica, uint64_t index, uint64_t term, const RaftMembers* members, const char* state, size_t length
) noexcept nogil
cdef bint snapshot_begin(
    Replicas* replicas, uint32_t number, const RaftMembers* members, const char* description, uint32_t description_bytes,
    const char* state, size_t length,
) noexcept nogil
cdef const char* snapshot_read(Replicas* replicas, Replica* replica, RaftMembers* members, size_t* length) noexcept nogil
# Let bytes go to which Raft does not refer any more: who wants them again reads them.
cdef void bytes_leave(Replicas* replicas, Replica* replica) noexcept nogil
cdef void forget_up_to(Replicas* replicas, Replica* replica, uint64_t index) noexcept nogil
cdef void replica_drop(Replicas* replicas, Replica* replica) noexcept nogil
