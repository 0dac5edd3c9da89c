"""The C face of accounts; see `_accounts.pyx`."""

from libc.stdint cimport uint32_t

from framework.dataplane._state cimport Account, Link, State, Subscription


cdef Account* account_new(State* state, const char* name, size_t length) noexcept nogil
cdef Account* account_named(State* state, Link* link, const char* name, uint32_t length) noexcept nogil
cdef Account* account_foreign(State* state, const char* name, uint32_t length) noexcept nogil
cdef void account_spare(State* state, Account* account) noexcept nogil
cdef void accounts_sweep(State* state) noexcept nogil
cdef void account_remove(State* state, Account* account) noexcept nogil
cdef void accounts_free(State* state) noexcept nogil
cdef void client_join(Account* account, Link* client) noexcept nogil
cdef void client_leave(Link* client) noexcept nogil
