"""The C face of changes of members; see `_changes.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.raft._state cimport Raft


cdef uint64_t change_members(Raft* raft, int change, uint64_t id) noexcept nogil
