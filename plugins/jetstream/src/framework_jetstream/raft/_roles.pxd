"""The C face of the roles of a server; see `_roles.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.raft._state cimport Raft


cdef uint64_t random_of(uint64_t* state) noexcept nogil
cdef uint64_t random_next(Raft* raft) noexcept nogil
cdef void become_follower(Raft* raft, uint64_t term, uint64_t leader) noexcept nogil
cdef void become_pre_candidate(Raft* raft) noexcept nogil
cdef void become_candidate(Raft* raft) noexcept nogil
cdef void become_leader(Raft* raft) noexcept nogil
cdef void leader_was_heard(Raft* raft, uint64_t leader) noexcept nogil
