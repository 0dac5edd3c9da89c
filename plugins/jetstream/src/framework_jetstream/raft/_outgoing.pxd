"""The C face of what goes to other servers; see `_outgoing.pyx`."""

from libc.stdint cimport uint8_t, uint64_t

from framework_jetstream.raft._state cimport Raft, RaftMessage


cdef RaftMessage message_new(Raft* raft, uint8_t kind, uint64_t to) noexcept nogil
cdef void say(Raft* raft, const RaftMessage* message) noexcept nogil
cdef void say_durable(Raft* raft, RaftMessage* message) noexcept nogil
cdef bint hard_state_is_durable(const Raft* raft) noexcept nogil
cdef void release_waiting(Raft* raft) noexcept nogil
