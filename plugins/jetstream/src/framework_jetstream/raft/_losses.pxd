"""The C face of losses; see `_losses.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.raft._state cimport Raft, RaftMembers, RaftMessage, RaftPeer


cdef void raft_lose(Raft* raft) noexcept nogil
cdef bint claims_more(const Raft* raft, const RaftMessage* message) noexcept nogil
cdef bint claim_holds(Raft* raft, const RaftMessage* message) noexcept nogil
cdef uint64_t loss_commit(const Raft* raft, const RaftMessage* message) noexcept nogil
cdef void loss_mark(const Raft* raft, RaftMessage* answer) noexcept nogil
cdef void loss_ends(Raft* raft, const RaftMessage* message) noexcept nogil
cdef bint answer_counts(Raft* raft, RaftPeer* peer, const RaftMessage* message) noexcept nogil
cdef void barriers_propose(Raft* raft) noexcept nogil
cdef void loss_tell(Raft* raft, RaftPeer* peer, RaftMessage* heartbeat) noexcept nogil
cdef bint loss_stays(Raft* raft, const RaftMembers* members, uint64_t gone) noexcept nogil
