"""The C face of linearizable reads; see `_reads.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.raft._state cimport Raft, RaftMessage


cdef bint read_begin(Raft* raft, uint64_t id) noexcept nogil
cdef void read_asked(Raft* raft, const RaftMessage* message) noexcept nogil
cdef void read_answered(Raft* raft, const RaftMessage* message) noexcept nogil
cdef void reads_begin_round(Raft* raft) noexcept nogil
cdef void reads_confirm(Raft* raft) noexcept nogil
cdef bint lease_is_valid(const Raft* raft) noexcept nogil
