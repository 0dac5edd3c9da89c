"""The C face of entries of the log that are read back for other servers; see `_log_ranges.pyx`."""

from libc.stdint cimport uint32_t

from framework_jetstream.engine._state cimport Engine, ReadJob
from framework_jetstream.raft._state cimport RaftRange
from framework_jetstream.replication._replicas cimport Replica
from framework_jetstream.store._bodies cimport BodyReader


cdef void range_want(void* engine, Replica* replica, const RaftRange* wanted, uint32_t count) noexcept nogil
# Called by whoever performs jobs; errno, LOST: some of it is not what was written, 0: done.
cdef int range_perform(ReadJob* job, BodyReader* reader) noexcept nogil
cdef void range_read(Engine* engine, ReadJob* job) noexcept nogil
