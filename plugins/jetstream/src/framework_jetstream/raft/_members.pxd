"""The C face of who belongs to a group; see `_members.pyx`."""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.raft._state cimport Raft, RaftMembers, RaftPeer


cdef RaftMembers* members_now(Raft* raft) noexcept nogil
cdef RaftPeer* peer_of(Raft* raft, uint64_t id) noexcept nogil
cdef bint is_voter(Raft* raft, uint64_t id) noexcept nogil
cdef uint32_t quorum_of(const Raft* raft) noexcept nogil
cdef bint members_add(Raft* raft, const RaftMembers* members) noexcept nogil
cdef void members_cut_from(Raft* raft, uint64_t index) noexcept nogil
cdef void members_committed(Raft* raft) noexcept nogil
cdef bint members_at(Raft* raft, uint64_t index, RaftMembers* found) noexcept nogil
cdef void members_begin(Raft* raft, const RaftMembers* members) noexcept nogil
cdef uint32_t members_write(const RaftMembers* members, char* out) noexcept nogil
cdef bint members_read(RaftMembers* members, const char* source, uint32_t length) noexcept nogil
cdef uint64_t quorum_match(Raft* raft) noexcept nogil
cdef uint32_t heard_voters(Raft* raft) noexcept nogil
