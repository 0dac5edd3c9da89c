"""The C face of owed answers; see `_replies.pyx`."""

from framework.dataplane._state cimport Link, Replies, State


cdef Replies* replies_new() noexcept nogil
cdef void replies_free(Replies* replies) noexcept nogil
cdef void reply_owe(State* state, Link* link, const char* subject, size_t length) noexcept nogil
cdef bint reply_is_due(State* state, Replies* replies, const char* subject, size_t length) noexcept nogil
