"""The C face of account tables; see `_tables.pyx`."""

from framework.dataplane._state cimport Account, State, Tables


cdef Tables* tables_made(object tables, size_t account_count) except NULL
cdef void tables_free(Tables* self) noexcept nogil
cdef void tables_set(State* state, Account* account, Tables* tables) noexcept nogil
cdef void tables_leave(State* state, Account* account) noexcept nogil
cdef void tables_end(State* state) noexcept nogil
