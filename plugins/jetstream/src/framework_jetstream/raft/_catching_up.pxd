"""The C face of catching up; see `_catching_up.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.raft._state cimport Raft, RaftMessage, RaftReady


cdef inline bint is_fetching(const Raft* raft) noexcept nogil:
    """Whether it lacks entries that it knows to be committed, and gets them from others."""
    return raft.fetch.goal > raft.commit


cdef void fetch_wanted(Raft* raft, uint64_t goal) noexcept nogil
cdef void fetch_give_up(Raft* raft) noexcept nogil
cdef void fetch_from(Raft* raft, uint64_t offset, uint64_t kept_bytes) noexcept nogil
cdef void fetch_expire(Raft* raft) noexcept nogil
cdef void fetch_asked(Raft* raft, const RaftMessage* message) noexcept nogil
cdef bint range_received(Raft* raft, const RaftMessage* message) noexcept nogil
cdef void snapshot_asked(Raft* raft, const RaftMessage* message) noexcept nogil
cdef bint chunk_received(Raft* raft, const RaftMessage* message) noexcept nogil
cdef void chunk_give(Raft* raft, RaftReady* ready) noexcept nogil
