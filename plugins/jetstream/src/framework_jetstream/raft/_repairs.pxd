"""The C face of repairs of who has come to differ; see `_repairs.pyx`."""

from framework_jetstream.raft._state cimport Raft, RaftMessage, RaftPeer


cdef bint repair_is_wanted(const Raft* raft) noexcept nogil
cdef void repair_tell(Raft* raft, RaftPeer* peer, RaftMessage* heartbeat) noexcept nogil
cdef void repair_told(Raft* raft, const RaftMessage* heartbeat) noexcept nogil
cdef void repair_own(Raft* raft) noexcept nogil
