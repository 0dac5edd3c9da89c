"""The C face of what services are told of clients; see `_info.pyx`."""

from framework.dataplane._state cimport Account, Link, State


cdef char* text_put(char* at, const char* chars, size_t length) noexcept nogil
cdef bint info_set(Link* link, const char* chars, size_t brief, size_t full) noexcept nogil
cdef bint names_set(State* state, const char* chars, size_t server, size_t cluster, size_t node) noexcept nogil
cdef size_t info_room(State* state, Link* link, Account* via) noexcept nogil
cdef size_t info_put(State* state, Link* link, bint full, bint names_server, Account* via, char* out) noexcept nogil
cdef size_t own_room(Account* account, Account* via) noexcept nogil
cdef size_t own_put(Account* account, Account* via, char* out) noexcept nogil
