"""The C face of states in segments that other servers fetch; see `_pieces.pyx`."""

from libc.stddef cimport size_t
from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.engine._state cimport Engine, ReadJob, Slot
from framework_jetstream.raft._state cimport RaftRange
from framework_jetstream.replication._replicas cimport Replica

cdef enum:
    GIVEN_MAGIC = 0x47455357
    # WSEG
    EDITION_MAGIC = 0x4f475357
    # WSGO


cdef packed struct GivenHead:
    # What a state in segments begins with on its way.
    uint32_t magic
    uint32_t state_bytes
    uint64_t salt
    uint64_t group
    # A part of the sums of the segments.


cdef packed struct EditionHead:
    # The same, for who goes on with a newer state.
    GivenHead given
    uint64_t edition
    # While it is the same, the sender has not given a number of a segment twice.


cdef bint pieces_give(void* engine, Replica* replica, const RaftRange* wanted) noexcept nogil
cdef void piece_read(Engine* engine, ReadJob* job) noexcept nogil
cdef uint64_t pieces_total(const char* state, size_t length, uint64_t head_bytes) noexcept nogil
cdef uint64_t pieces_hold_bytes(const Engine* engine, const Slot* slot) noexcept nogil
