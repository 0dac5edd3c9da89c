"""The C face of entries at a follower; see `_following.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.raft._state cimport Raft, RaftMessage


cdef void append_received(Raft* raft, const RaftMessage* message) noexcept nogil
cdef bint heartbeat_received(Raft* raft, const RaftMessage* message) noexcept nogil
cdef bint is_full(const Raft* raft) noexcept nogil
cdef uint64_t take_entries(Raft* raft, uint64_t before, const RaftMessage* message) noexcept nogil
cdef void cut_from(Raft* raft, uint64_t index) noexcept nogil
cdef void acknowledge(Raft* raft, const RaftMessage* question) noexcept nogil
cdef void commit_alone(Raft* raft) noexcept nogil
cdef void commit_to(Raft* raft, uint64_t index) noexcept nogil
