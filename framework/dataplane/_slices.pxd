"""The C face of slices; see `_slices.pyx`."""

from libc.stdint cimport int64_t

from framework.dataplane._state cimport Link, State


cdef void link_go_on(State* state, Link* link) noexcept nogil
cdef void subscriptions_check(State* state, Link* link) noexcept nogil
cdef void confirm(State* state, int64_t token) noexcept nogil
cdef void checks_settle(State* state) noexcept nogil
