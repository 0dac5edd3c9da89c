"""The C face of the table of groups by id; see `_replica_ids.pyx`."""

from libc.stddef cimport size_t
from libc.stdint cimport uint64_t


cdef struct ReplicaIds:
    uint64_t* ids
    void** owners  # NULL: the place is free
    size_t mask
    size_t count


cdef void* ids_find(const ReplicaIds* table, uint64_t id) noexcept nogil
# False: no memory, or the id is another one's.
cdef bint ids_put(ReplicaIds* table, uint64_t id, void* owner) noexcept nogil
cdef void ids_drop(ReplicaIds* table, uint64_t id) noexcept nogil
cdef void ids_free(ReplicaIds* table) noexcept nogil
