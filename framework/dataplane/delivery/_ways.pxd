"""The C face of ways back; see `_ways.pyx`."""

from framework.dataplane._state cimport Link, Message, State


cdef void address_set(State* state, Link* link, const char* chars, size_t length) noexcept nogil
cdef void address_hide(State* state, Message* message) noexcept nogil
cdef bint is_reply_here(Message* message) noexcept nogil
cdef void way_add(State* state, Link* link, Message* message) noexcept nogil
cdef bint is_way(State* state, Link* link, Message* message) noexcept nogil
cdef bint way_taken(State* state, Link* link, Message* message) noexcept nogil
cdef void ways_end(Link* link) noexcept nogil
