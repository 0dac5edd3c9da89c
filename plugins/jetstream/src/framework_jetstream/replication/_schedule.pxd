"""The C face of which groups something is done for; see `_schedule.pyx`."""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.replication._replicas cimport Replica, Replicas


cdef Replica* replica_take(Replicas* replicas, int which) noexcept nogil
cdef void schedule_drop(Replicas* replicas, Replica* replica) noexcept nogil
cdef void replica_unsettle(Replicas* replicas, Replica* replica) noexcept nogil
cdef void replicas_unsettle(Replicas* replicas) noexcept nogil
cdef void replica_touch(Replicas* replicas, Replica* replica) noexcept nogil
cdef void replica_spoil(Replicas* replicas, Replica* replica) noexcept nogil
cdef void due_put(Replicas* replicas, Replica* replica) noexcept nogil
cdef Replica* due_take(Replicas* replicas, uint64_t tick) noexcept nogil
cdef uint32_t due_next(const Replicas* replicas) noexcept nogil
