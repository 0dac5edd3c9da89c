"""The C face of time in a group; see `_time.pyx`."""

from libc.stdint cimport uint32_t

from framework_jetstream.raft._state cimport Raft


cdef void raft_catch_up(Raft* raft) noexcept nogil
cdef uint32_t raft_due(const Raft* raft) noexcept nogil
