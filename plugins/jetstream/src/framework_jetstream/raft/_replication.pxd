"""The C face of entries at a leader; see `_replication.pyx`."""

from libc.stdint cimport uint16_t, uint32_t, uint64_t

from framework_jetstream.raft._state cimport Raft, RaftMessage, RaftPeer


cdef uint64_t append_own(Raft* raft, uint16_t kind, const char* chars, uint32_t length) noexcept nogil
cdef void heartbeat_all(Raft* raft) noexcept nogil
cdef void replicate(Raft* raft) noexcept nogil
cdef void hand_over(Raft* raft, RaftPeer* peer) noexcept nogil
cdef void maybe_commit(Raft* raft) noexcept nogil
cdef bint append_answered(Raft* raft, RaftPeer* peer, const RaftMessage* message) noexcept nogil
cdef bint heartbeat_answered(Raft* raft, RaftPeer* peer, const RaftMessage* message) noexcept nogil
