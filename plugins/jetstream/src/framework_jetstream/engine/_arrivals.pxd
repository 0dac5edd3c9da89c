"""The C face of states in segments that come from other servers; see `_arrivals.pyx`."""

from framework_jetstream.engine._state cimport Arrival, Engine, SegmentJob, Slot
from framework_jetstream.raft._state cimport RaftReady
from framework_jetstream.replication._replicas cimport Replica


cdef bint arrival_take(void* engine, Replica* replica, const RaftReady* ready) noexcept nogil
cdef void arrival_written(Engine* engine, SegmentJob* job) noexcept nogil
cdef void arrival_leave(Engine* engine, Slot* slot) noexcept nogil
cdef void arrival_review(Engine* engine, Slot* slot) noexcept nogil
cdef void arrival_let_go(Arrival* arrival) noexcept nogil
