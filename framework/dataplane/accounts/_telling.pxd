"""The C face of what routes are told first; see `_telling.pyx`."""

from framework.dataplane._state cimport Account, Link, State


cdef void marks_set(State* state, Link* link, const char* chars, size_t split, size_t length) noexcept nogil
cdef void loop_set(State* state, Link* link, const char* chars, size_t split, size_t length) noexcept nogil
cdef void interest_send(State* state, Account* account, Link* route) noexcept nogil
cdef void tellings_go_on(State* state, Link* route) noexcept nogil
cdef void telling_end(Link* route, Account* account) noexcept nogil
