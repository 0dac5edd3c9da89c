"""What goes to other servers; see `_replica_frames.pyx`."""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.raft._state cimport RaftMessage, RaftRange
from framework_jetstream.replication._replicas cimport Replica, Replicas


cdef void frame_message(Replicas* replicas, Replica* replica, const RaftMessage* message) noexcept nogil
cdef void frame_range(Replicas* replicas, Replica* replica, const RaftRange* wanted) noexcept nogil
cdef void frame_records(Replicas* replicas, Replica* replica, const RaftRange* wanted, const char** records, uint32_t count) noexcept nogil
cdef void frame_piece(
    Replicas* replicas, Replica* replica, const RaftRange* wanted, uint64_t total, const char* piece, uint32_t length
) noexcept nogil
cdef void frame_beats(Replicas* replicas) noexcept nogil
cdef void frames_finish(Replicas* replicas) noexcept nogil
cdef void frames_free(Replicas* replicas) noexcept nogil
