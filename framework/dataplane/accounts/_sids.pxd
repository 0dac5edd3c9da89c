"""The C face of finding subscriptions; see `_sids.pyx`."""

from libc.stdint cimport uint32_t

from framework.dataplane._state cimport Account, Link, State, Subscription


cdef Subscription* subscription_find(State* state, Link* link, const char* sid, size_t length) noexcept nogil
cdef uint32_t interest_of_link(State* state, Link* link, Account* account, const char* words, size_t length) noexcept nogil
