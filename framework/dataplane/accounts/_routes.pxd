"""The C face of routes; see `_routes.pyx`."""

from libc.stdint cimport uint32_t

from framework.dataplane._state cimport Account, Link, PermissionTable, State


cdef void account_carry(State* state, Account* account, Link* route) noexcept nogil
cdef void account_carry_widely(State* state, Account* account) noexcept nogil
cdef void accounts_carry(State* state, Link* route) noexcept nogil
cdef void accounts_leave(State* state, Link* route) noexcept nogil
cdef void accounts_pin(State* state, const uint32_t* pinned, size_t count) noexcept nogil
cdef void fences_pass(State* state, Link* route) noexcept nogil
cdef bint peer_join(State* state, Link* route, uint32_t number) noexcept nogil
cdef void peer_leave(State* state, Link* route) noexcept nogil
cdef void interest_forget(State* state, Account* account, Link* route) noexcept nogil
cdef void peers_permit(State* state, int kind, PermissionTable* table) noexcept nogil
