"""The C face of the server's INFO; see `_server_info.pyx`."""

from framework.dataplane._state cimport Link, State


cdef void server_info_set(State* state, int kind, const char* chars, size_t length) noexcept nogil
cdef void server_info_announce(State* state) noexcept nogil
cdef void link_info(State* state, Link* link) noexcept nogil
cdef void link_info_connected(State* state, Link* link) noexcept nogil
