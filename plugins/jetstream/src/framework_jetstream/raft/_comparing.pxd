"""The C face of comparing replicas; see `_comparing.pyx`."""

from framework_jetstream.raft._state cimport Raft, RaftMessage, RaftPeer


cdef inline bint compare_is_asked(const RaftMessage* append) noexcept nogil:
    """Return whether an APPEND asks what entries have led to."""
    return append.context != 0 and not append.entry_count


cdef void compare_begin(Raft* raft) noexcept nogil
cdef void compare_forget(Raft* raft, RaftPeer* peer) noexcept nogil
cdef void compare_ask(Raft* raft) noexcept nogil
cdef void compare_answer(Raft* raft, const RaftMessage* question, RaftMessage* answer) noexcept nogil
cdef void compare_answered(Raft* raft, RaftPeer* peer, const RaftMessage* answer) noexcept nogil
