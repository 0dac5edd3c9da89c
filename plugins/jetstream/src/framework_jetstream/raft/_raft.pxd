"""What callers do with a group; `_state.pxd` says how it goes together, `_raft.pyx` what each does."""

from libc.stdint cimport uint16_t, uint32_t, uint64_t

from framework_jetstream.raft._state cimport Raft, RaftMembers, RaftMessage, RaftReady, RaftServer, RaftSettings


cdef Raft* raft_new(const RaftSettings* settings, uint64_t group, RaftServer* server, uint64_t seed) noexcept nogil
cdef void raft_free(Raft* raft) noexcept nogil
# What was durable when the server stopped, in this order; `members` are those of the snapshot, or of the start; NULL: not known.
cdef bint raft_begin(
    Raft* raft, uint64_t term, uint64_t vote, uint64_t snapshot_index, uint64_t snapshot_term, const RaftMembers* members
) noexcept nogil
cdef bint raft_restore(Raft* raft, uint64_t term, uint16_t kind, const char* chars, uint32_t length) noexcept nogil

cdef void raft_expire(Raft* raft) noexcept nogil
cdef bint raft_step(Raft* raft, const RaftMessage* message) noexcept nogil
cdef uint64_t raft_propose(Raft* raft, uint16_t kind, const char* chars, uint32_t length) noexcept nogil
cdef bint raft_ready(Raft* raft, RaftReady* ready) noexcept nogil
cdef void raft_untake(Raft* raft, uint64_t index) noexcept nogil
cdef void raft_place(Raft* raft, uint64_t index, const char* chars) noexcept nogil
cdef void raft_advance(Raft* raft, uint64_t write) noexcept nogil
cdef void raft_applied(Raft* raft, uint64_t index) noexcept nogil
cdef void raft_set_aside(Raft* raft) noexcept nogil
cdef uint64_t raft_tail(const Raft* raft, uint64_t index) noexcept nogil
cdef bint raft_compact(Raft* raft, uint64_t index, uint64_t tail, RaftMembers* members) noexcept nogil
# Let bytes of entries go that only peers may want, who fetch them then.
cdef void raft_release(Raft* raft) noexcept nogil
cdef void raft_leave(Raft* raft, uint64_t index) noexcept nogil
cdef size_t raft_memory(const Raft* raft) noexcept nogil
