"""The C face of assumed interest; see `_assumed.pyx`."""

from libc.stdint cimport uint32_t

from framework.dataplane._state cimport Account, Link, State


cdef bint assumptions_new(State* state, Link* link, bint from_start, bint tells_unknown) noexcept nogil
cdef void assumptions_end(State* state, Link* link) noexcept nogil
cdef void account_assume(State* state, Account* account) noexcept nogil
cdef void account_wanted(State* state, Link* link, Account* account) noexcept nogil
cdef void account_unwanted(State* state, Link* link, Account* account) noexcept nogil
cdef void account_told(State* state, Link* link, Account* account, bint ends) noexcept nogil
cdef bint is_refused(State* state, Link* link, Account* account, const char* subject, size_t length) noexcept nogil
cdef bint interest_is_kept(
    State* state, Link* link, Account* account, const char* subject, size_t length, bint is_group, bint coming
) noexcept nogil
cdef void account_unknown(State* state, Link* link, const char* name, uint32_t length) noexcept nogil
