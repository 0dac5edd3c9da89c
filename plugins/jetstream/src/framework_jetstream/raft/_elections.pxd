"""The C face of elections; see `_elections.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.raft._state cimport Raft, RaftMessage


cdef void found(Raft* raft, bint is_first) noexcept nogil
cdef void resume(Raft* raft) noexcept nogil
cdef void stand(Raft* raft) noexcept nogil
cdef void vote_durable(Raft* raft) noexcept nogil
cdef void election_expire(Raft* raft) noexcept nogil
cdef bint vote_is_promised_away(const Raft* raft, const RaftMessage* message) noexcept nogil
cdef void vote_asked(Raft* raft, const RaftMessage* message) noexcept nogil
cdef void vote_refuse(Raft* raft, const RaftMessage* message) noexcept nogil
cdef void vote_answered(Raft* raft, const RaftMessage* message) noexcept nogil
cdef void timeout_told(Raft* raft, const RaftMessage* message) noexcept nogil
cdef bint transfer_begin(Raft* raft, uint64_t to) noexcept nogil
