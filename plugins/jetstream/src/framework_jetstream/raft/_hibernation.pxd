"""The C face of hibernation; see `_hibernation.pyx`."""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.raft._state cimport Raft, RaftMessage, RaftPair, RaftPeer, RaftServer, RaftSettings


cdef void server_begin(RaftServer* server, uint64_t id, uint64_t seed, bint hibernates) noexcept nogil
# With each tick; True: each pair is told what `pair_beat` says.
cdef bint server_beats(RaftServer* server, const RaftSettings* settings) noexcept nogil
cdef uint32_t server_due(const RaftServer* server, const RaftSettings* settings) noexcept nogil
cdef bint pair_beat(const RaftServer* server, const RaftPair* pair, const RaftSettings* settings, RaftMessage* message) noexcept nogil
cdef void beat_received(RaftServer* server, const RaftMessage* message) noexcept nogil
cdef bint members_take(Raft* raft, uint32_t kind) noexcept nogil

cdef bint may_hibernate(Raft* raft) noexcept nogil
cdef void rest_begin_round(Raft* raft) noexcept nogil
cdef void rest_tell(Raft* raft, RaftPeer* peer, RaftMessage* heartbeat) noexcept nogil
cdef void rest_asked(Raft* raft, const RaftMessage* heartbeat, RaftMessage* answer) noexcept nogil
cdef void rest_answered(Raft* raft, RaftPeer* peer, const RaftMessage* message) noexcept nogil
cdef void rest_stir(Raft* raft) noexcept nogil
cdef void rest_end(Raft* raft) noexcept nogil
cdef void rest_expire(Raft* raft) noexcept nogil
cdef void rest_review(Raft* raft) noexcept nogil
cdef bint rest_holds(Raft* raft) noexcept nogil
cdef void rest_pass(Raft* raft) noexcept nogil
