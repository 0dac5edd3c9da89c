"""The C face of clocks; see `_clocks.pyx`."""

from libc.stdint cimport int64_t

from framework.dataplane._state cimport Link, LoginTerms, State, Times


cdef int64_t ping_interval_ns(State* state, const Link* link) noexcept nogil
cdef LoginTerms* login_terms(State* state, const Link* link) noexcept nogil
cdef void link_ping(State* state, Link* link, int64_t next_ns) noexcept nogil
cdef void link_answered(State* state, Link* link) noexcept nogil
cdef void links_tick(State* state) noexcept nogil
cdef void logins_time_out(State* state) noexcept nogil
cdef void times_set(State* state, int listener, const Times* times) noexcept nogil
cdef void route_repeat(State* state, Link* route) noexcept nogil
